// Fiber: a flow of control with a stack of its own, switched by hand.
//
//   empty --prepare--> ready --switch_to--> running --switch_to another--> ready ...
//                                           running --leave_to another--> left --retire--> empty
//
//   F1  a fiber runs on the OS thread that prepared it, and on no other
//   F2  a fiber's stack is recycled only after retire, which runs on another fiber's stack
//   F3  the exceptions being handled (__cxa_get_globals) belong to the fiber, not to the OS thread: both are
//       exchanged at each switch
//   F4  nothing here allocates after the constructor, except what TSan keeps
#pragma once
#include <array>
#include <cstddef>

#include "sanitizers.hpp"

namespace hiway::simt {

class Fiber {
 public:
  /// Maps a stack of at least `stack_bytes` with a guard page below it. *Throws* hiway::Error when there is no memory.
  explicit Fiber(std::size_t stack_bytes);
  /// Stands for the calling OS thread's own flow of control.
  struct ThisThread {};
  explicit Fiber(ThisThread);
  ~Fiber();
  Fiber(Fiber const&) = delete;
  Fiber& operator=(Fiber const&) = delete;

  using Entry = void (*)(Fiber& self);
  /// The next switch to this fiber calls `entry`, which must end in leave_to.
  void prepare(Entry entry);
  /// Runs `next` until something switches back. *Threads*: on this fiber, like leave_to.
  void switch_to(Fiber& next);
  /// Runs `next` and never comes back.
  [[noreturn]] void leave_to(Fiber& next);
  /// Makes a fiber that has left ready for the next prepare. *Threads*: on another fiber of the same OS thread.
  void retire();
  /// True for an address on this fiber's stack, or of a local variable that ASan keeps elsewhere. *Threads*: on this
  /// fiber.
  [[nodiscard]] bool holds(void const* address) const noexcept;

 private:
  friend class FiberQueue;
  struct Trampoline;
  struct ExceptionState {
    alignas(void*) std::array<std::byte, 16> bytes{};  ///< __cxa_eh_globals of the Itanium C++ ABI
  };
  void jump(Fiber& next, sanitizer::Shadow* self_shadow);

  void* context_ = nullptr;    // where it goes on, while it does not run
  Fiber* jumps_to_ = nullptr;  // during a switch away from here
  Fiber* queued_behind_ = nullptr;
  Entry entry_ = nullptr;
  std::byte* stack_ = nullptr;  // lowest usable byte
  std::size_t stack_bytes_ = 0;
  std::size_t guard_bytes_ = 0;  // 0: the stack is the OS thread's
  ExceptionState exceptions_;
  sanitizer::Shadow shadow_;
};

/// First in, first out. Links fibers through themselves: a fiber is in one queue at most, and push never allocates.
class FiberQueue {
 public:
  void push(Fiber& fiber) noexcept {
    fiber.queued_behind_ = nullptr;
    (last_ != nullptr ? last_->queued_behind_ : first_) = &fiber;
    last_ = &fiber;
    ++fibers_;
  }
  /// Null when empty.
  Fiber* pop() noexcept {
    Fiber* const fiber = first_;
    if (fiber == nullptr) return nullptr;
    first_ = fiber->queued_behind_;
    if (first_ == nullptr) last_ = nullptr;
    --fibers_;
    return fiber;
  }
  /// Moves all fibers of `others` to the end of this queue.
  void append(FiberQueue& others) noexcept {
    if (others.empty()) return;
    (last_ != nullptr ? last_->queued_behind_ : first_) = others.first_;
    last_ = others.last_;
    fibers_ += others.fibers_;
    others.clear();
  }
  void clear() noexcept { *this = {}; }
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return fibers_; }

 private:
  Fiber* first_ = nullptr;
  Fiber* last_ = nullptr;
  std::size_t fibers_ = 0;
};

}  // namespace hiway::simt
