// The device memory of one placement of a segment.
#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "hiway/backend.hpp"
#include "hiway/memory.hpp"
#include "hiway/segment/queue.hpp"
#include "hiway/segment/segment_base.hpp"
#include "lib/sizes.hpp"

namespace hiway::segment {

struct SegmentBase::Memory {
  Backend& backend;
  std::vector<void*> all{};

  explicit Memory(Backend& b) : backend(b) {}
  Memory(Memory const&) = delete;
  Memory& operator=(Memory const&) = delete;
  ~Memory() {
    for (void* address : all) backend.release(hiway::Memory::device, address);
  }
  template <class T>
  T* take(std::size_t count, std::string const& what) {
    std::size_t const bytes = bytes_of(what, {std::max<std::size_t>(1, count), sizeof(T)});
    void* const address = backend.allocate(hiway::Memory::device, bytes, what);
    all.push_back(address);
    return static_cast<T*>(address);
  }

  NodeRow* rows = nullptr;
  std::vector<std::byte*> functions{};  ///< of each module
  std::size_t parked_bytes = 0;         ///< of all replicas; 0: the kernel never leaves
  std::size_t ask_words = 0;            ///< words of Lending::asks, with Lending::idle behind them
};

}  // namespace hiway::segment
