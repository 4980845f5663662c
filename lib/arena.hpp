// Arena: the words of a pipeline at one home, with the values they have at the start of a run, so that a reset is a few
// large copies.
#pragma once
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "hiway/backend.hpp"
#include "lib/sizes.hpp"

namespace hiway {

class Arena {
 public:
  /// `what` names the arena in errors.
  Arena(Backend& backend, Memory memory, std::string what)
      : backend_(backend), memory_(memory), what_(std::move(what)) {}
  ~Arena();
  Arena(Arena const&) = delete;
  Arena& operator=(Arena const&) = delete;

  /// Room for `count` objects that are T{} at the start of a run; image() changes that value.
  template <class T>
  T* place(std::size_t count = 1) {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    std::size_t const bytes = bytes_of(what_, {count, sizeof(T)});
    Place const at = take(bytes, alignof(T));
    for (std::size_t i = 0; i < count; ++i) new (at.image + i * sizeof(T)) T{};
    return reinterpret_cast<T*>(at.home);
  }
  /// The value that this object of the arena has at the start of a run.
  template <class T>
  T& image(T* placed) {
    return *reinterpret_cast<T*>(image_of(reinterpret_cast<std::byte*>(placed)));
  }
  /// Room for a copy of `list`, at least one element.
  template <class T>
  T* place_list(std::vector<T> const& list) {
    T* const placed = place<T>(list.empty() ? 1 : list.size());
    for (std::size_t i = 0; i < list.size(); ++i) image(placed + i) = list[i];
    return placed;
  }
  /// Room for a large array of zeros; `what` names it in an error.
  template <class T>
  T* place_zeros(std::size_t count, std::string_view what) {
    return reinterpret_cast<T*>(take_zeros(bytes_of(what, {count, sizeof(T)}), what));
  }
  /// Room that is never initialized; `what` names it in an error.
  std::byte* place_raw(std::size_t bytes, std::string_view what);

  /// The memory of the objects that have a start value: words, and tables that only monitors read.
  [[nodiscard]] std::vector<std::span<std::byte const>> words() const;

  /// Gives every object its start value. Not while anything runs. Of device memory only begun: the backend's
  /// finish_uploads() waits.
  void reset();
  /// Copies an object from its home.
  template <class T>
  T fetch(T const* placed) const {
    T value{};
    if (memory_ == Memory::device) {
      backend_.download(&value, placed, sizeof value);
    } else {
      value = *placed;
    }
    return value;
  }

 private:
  static constexpr std::size_t chunk_bytes = 256 * 1024;
  struct Chunk {
    std::byte* home;
    std::size_t bytes;
    std::size_t used;
    std::unique_ptr<std::byte[], void (*)(std::byte*)> image;  ///< null: raw or zeros
    bool zeros;
  };
  struct Place {
    std::byte* home;
    std::byte* image;
  };
  std::vector<Chunk>::iterator add(Chunk chunk, std::string_view what);
  Place take(std::size_t bytes, std::size_t alignment);
  std::byte* take_zeros(std::size_t bytes, std::string_view what);
  std::byte* image_of(std::byte* placed);

  Backend& backend_;
  Memory memory_;
  std::string what_;
  std::vector<Chunk> chunks_;
};

}  // namespace hiway
