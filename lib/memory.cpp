#include "hiway/memory.hpp"

#include <algorithm>
#include <string>

#include "hiway/error.hpp"
#include "lib/named_failure.hpp"

namespace hiway::detail {

void* DrawnMemory::allocate(Memory kind, std::size_t bytes, int device, std::string_view what) {
  if (resource_ == nullptr || kind == Memory::managed) return nullptr;
  std::string why = "null";
  void* address = nullptr;
  drawn_.reserve(drawn_.size() + 1);  // what has been taken is noted in any case
  try {
    address = resource_->allocate(kind, bytes, device);
  } catch (...) {
    why = what_of(std::current_exception());
  }
  if (address == nullptr) {
    throw ConfigError(std::string(what) + ": PipelineConfig::memory has no " + std::to_string(bytes) + " bytes of " +
                      (kind == Memory::device ? "device" : "pinned") + " memory: " + why);
  }
  drawn_.push_back({address, resource_, kind, bytes, device});
  return address;
}

bool DrawnMemory::release(void* address) noexcept {
  auto const found = std::ranges::find(drawn_, address, &Drawn::address);
  if (found == drawn_.end()) return false;
  found->from->deallocate(found->kind, address, found->bytes, found->device);
  drawn_.erase(found);
  return true;
}

}  // namespace hiway::detail
