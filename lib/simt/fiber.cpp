#include "fiber.hpp"

#include <cxxabi.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "hiway/error.hpp"

namespace hiway::simt {
namespace {

std::size_t page_bytes() {
  static std::size_t const bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

constexpr int stack_mapping = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;

}  // namespace

// The first frame of a fiber, and what a fiber must do when a switch arrives at it.
struct Fiber::Trampoline {
  static void enter(boost::context::detail::transfer_t transfer) {
    Fiber& self = *static_cast<Fiber*>(transfer.data)->jumps_to_;
    arrive(self, transfer);
    self.entry_(self);
    std::abort();  // an entry ends in leave_to
  }
  // Stores in the fiber that jumped here where it will go on.
  static void arrive(Fiber& self, boost::context::detail::transfer_t transfer) {
    sanitizer::finish_switch(self.shadow_);
    static_cast<Fiber*>(transfer.data)->context_ = transfer.fctx;
  }
};

Fiber::Fiber(std::size_t stack_bytes) : guard_bytes_(page_bytes()) {
  stack_bytes_ = (stack_bytes + guard_bytes_ - 1) / guard_bytes_ * guard_bytes_;
  void* const mapped = mmap(nullptr, guard_bytes_ + stack_bytes_, PROT_READ | PROT_WRITE, stack_mapping, -1, 0);
  if (mapped == MAP_FAILED)
    throw Error("no memory for a lane's stack of " + std::to_string(stack_bytes_) + " bytes: " + std::strerror(errno));
  if (mprotect(mapped, guard_bytes_, PROT_NONE) != 0) {
    int const reason = errno;
    munmap(mapped, guard_bytes_ + stack_bytes_);
    throw Error(std::string("no guard page for a lane's stack (vm.max_map_count?): ") + std::strerror(reason));
  }
  stack_ = static_cast<std::byte*>(mapped) + guard_bytes_;
}

Fiber::Fiber(ThisThread) {
  sanitizer::adopt_thread(shadow_);
  if constexpr (sanitizer::address) {  // ASan must know the stack that is switched back to
    pthread_attr_t attributes;
    void* lowest = nullptr;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      pthread_attr_getstack(&attributes, &lowest, &stack_bytes_);
      pthread_attr_destroy(&attributes);
    }
    stack_ = static_cast<std::byte*>(lowest);
  }
}

Fiber::~Fiber() {
  if (guard_bytes_ == 0) return;
  sanitizer::unpoison(stack_, stack_bytes_);
  munmap(stack_ - guard_bytes_, guard_bytes_ + stack_bytes_);
}

void Fiber::prepare(Entry entry) {
  entry_ = entry;
  exceptions_ = {};
  shadow_ = {};
  sanitizer::create(shadow_);
  context_ = boost::context::detail::make_fcontext(stack_ + stack_bytes_, stack_bytes_, &Trampoline::enter);
}

void Fiber::switch_to(Fiber& next) { jump(next, &shadow_); }

void Fiber::leave_to(Fiber& next) {
  jump(next, nullptr);
  std::abort();  // nothing switches to a fiber that has left
}

void Fiber::jump(Fiber& next, sanitizer::Shadow* self_shadow) {
  jumps_to_ = &next;
  void* const handled = abi::__cxa_get_globals();  // F3
  std::memcpy(exceptions_.bytes.data(), handled, exceptions_.bytes.size());
  std::memcpy(handled, next.exceptions_.bytes.data(), next.exceptions_.bytes.size());
  sanitizer::start_switch(self_shadow, next.stack_, next.stack_bytes_);
  sanitizer::enter(next.shadow_);
  auto const transfer = boost::context::detail::jump_fcontext(next.context_, this);
  Trampoline::arrive(*this, transfer);
}

bool Fiber::holds(void const* address) const noexcept {
  auto const* const byte = static_cast<std::byte const*>(address);
  return (byte >= stack_ && byte < stack_ + stack_bytes_) || sanitizer::in_moved_frame(address);
}

void Fiber::retire() {
  sanitizer::destroy(shadow_);
  sanitizer::unpoison(stack_, stack_bytes_);  // red zones of frames that never returned
  if constexpr (sanitizer::thread) {
    // A new mapping: otherwise TSan would take the next lane's locals for races with this lane's.
    if (mmap(stack_, stack_bytes_, PROT_READ | PROT_WRITE, stack_mapping | MAP_FIXED, -1, 0) == MAP_FAILED)
      std::abort();
  }
}

}  // namespace hiway::simt
