#include "tests/faults/nth/interpose.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <memory>
#include <new>
#include <system_error>
#include <thread>

namespace hiway_tests::nth {
namespace {

constexpr int off = -1;

std::atomic<int> counted{off};
std::atomic<std::uint64_t> asked{0};
std::atomic<std::uint64_t> failing{0};
std::atomic<bool> failed{false};
std::atomic<bool> exhausted{false};
thread_local int spared = 0;

bool fails(Resource resource) {
  if (spared != 0) return false;
  if (resource == Resource::memory && exhausted.load(std::memory_order_relaxed)) return true;
  if (counted.load(std::memory_order_relaxed) != static_cast<int>(resource)) return false;
  if (asked.fetch_add(1, std::memory_order_relaxed) + 1 != failing.load(std::memory_order_relaxed)) return false;
  failed.store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace

void begin(Resource resource, std::uint64_t n) {
  asked = 0;
  failed = false;
  failing = n;
  counted = static_cast<int>(resource);
}
std::uint64_t end() {
  counted = off;
  return asked;
}
bool has_failed() { return failed; }
void exhaust_memory(bool on) { exhausted = on; }

Spared::Spared() { ++spared; }
Spared::~Spared() { --spared; }

}  // namespace hiway_tests::nth

using hiway_tests::nth::fails;
using hiway_tests::nth::Resource;

// ---- memory: every form of new. A form left to a sanitizer's runtime would not match the delete below.

namespace {

void* allocate(std::size_t bytes) { return fails(Resource::memory) ? nullptr : std::malloc(bytes == 0 ? 1 : bytes); }
void* allocate(std::size_t bytes, std::align_val_t alignment) {
  auto const at = static_cast<std::size_t>(alignment);
  return fails(Resource::memory) ? nullptr : std::aligned_alloc(at, (bytes + at - 1) / at * at);
}
void* or_throw(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

using Alignment = std::align_val_t;
using Nothrow = std::nothrow_t;

void* operator new(std::size_t bytes) { return or_throw(allocate(bytes)); }
void* operator new[](std::size_t bytes) { return or_throw(allocate(bytes)); }
void* operator new(std::size_t bytes, Alignment alignment) { return or_throw(allocate(bytes, alignment)); }
void* operator new[](std::size_t bytes, Alignment alignment) { return or_throw(allocate(bytes, alignment)); }
void* operator new(std::size_t bytes, Nothrow const&) noexcept { return allocate(bytes); }
void* operator new[](std::size_t bytes, Nothrow const&) noexcept { return allocate(bytes); }
void* operator new(std::size_t bytes, Alignment alignment, Nothrow const&) noexcept {
  return allocate(bytes, alignment);
}
void* operator new[](std::size_t bytes, Alignment alignment, Nothrow const&) noexcept {
  return allocate(bytes, alignment);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, Alignment) noexcept { std::free(memory); }
void operator delete[](void* memory, Alignment) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, Alignment) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, Alignment) noexcept { std::free(memory); }
void operator delete(void* memory, Nothrow const&) noexcept { std::free(memory); }
void operator delete[](void* memory, Nothrow const&) noexcept { std::free(memory); }
void operator delete(void* memory, Alignment, Nothrow const&) noexcept { std::free(memory); }
void operator delete[](void* memory, Alignment, Nothrow const&) noexcept { std::free(memory); }

// ---- threads: std::thread, and with it std::jthread, start by this function of libstdc++. `state` is a unique_ptr,
// which is handed over by its address.

extern "C" {
// NOLINTBEGIN: the names are the linker's
void __real__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(std::thread* self,
                                                                                                  void* state,
                                                                                                  void (*depends)());
void __wrap__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(std::thread* self,
                                                                                                  void* state,
                                                                                                  void (*depends)()) {
  if (fails(Resource::thread)) throw std::system_error(EAGAIN, std::generic_category());
  __real__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(self, state, depends);
}

// ---- files: what lib/output_file.cpp calls
int __real_open(char const* path, int flags, ...);
int __wrap_open(char const* path, int flags, ...) {
  if (fails(Resource::file)) return errno = EMFILE, -1;
  va_list more;
  va_start(more, flags);
  mode_t const mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return __real_open(path, flags, mode);
}
ssize_t __real_write(int file, void const* bytes, std::size_t count);
ssize_t __wrap_write(int file, void const* bytes, std::size_t count) {
  if (fails(Resource::file)) return errno = ENOSPC, -1;
  return __real_write(file, bytes, count);
}
int __real_close(int file);
int __wrap_close(int file) {
  int const result = __real_close(file);
  if (fails(Resource::file)) return errno = EIO, -1;  // the file is closed even so
  return result;
}
int __real_rename(char const* from, char const* to);
int __wrap_rename(char const* from, char const* to) {
  if (fails(Resource::file)) return errno = EBUSY, -1;
  return __real_rename(from, to);
}
int __real_lstat(char const* path, struct stat* is);
int __wrap_lstat(char const* path, struct stat* is) {
  if (fails(Resource::file)) return errno = EACCES, -1;
  return __real_lstat(path, is);
}
int __real_fstat(int file, struct stat* is);
int __wrap_fstat(int file, struct stat* is) {
  if (fails(Resource::file)) return errno = EIO, -1;
  return __real_fstat(file, is);
}
int __real_fchmod(int file, mode_t mode);
int __wrap_fchmod(int file, mode_t mode) {
  if (fails(Resource::file)) return errno = EPERM, -1;
  return __real_fchmod(file, mode);
}
int __real_ftruncate(int file, off_t bytes);
int __wrap_ftruncate(int file, off_t bytes) {
  if (fails(Resource::file)) return errno = EIO, -1;
  return __real_ftruncate(file, bytes);
}
// NOLINTEND
}
