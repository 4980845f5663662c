// What the sanitizers must be told about fibers. Everything here is empty unless the build defines HIWAY_SIMT_ASAN or
// HIWAY_SIMT_TSAN for lib/simt.
//
// Under TSan lib/simt itself is compiled without -fsanitize=thread, so TSan knows only the orders that are stated here:
// launch -> lane, lanes of one sync (or sync_block) -> each other, lane -> Launch::wait. These are CUDA's orders and no
// others, except order_leaving's, in a run that aborts: fibers are switched without synchronization, so two lanes of
// one OS thread still count as unordered, and code that runs on a lane takes no mutex.
#pragma once
#include <cstddef>
#if defined(HIWAY_SIMT_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(HIWAY_SIMT_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace hiway::simt::sanitizer {

/// What a sanitizer keeps for one fiber.
struct Shadow {
  void* asan_frames = nullptr;
  void* tsan_fiber = nullptr;
};

#if defined(HIWAY_SIMT_ASAN)
inline constexpr bool address = true;
inline void unpoison(void* stack, std::size_t stack_bytes) { __asan_unpoison_memory_region(stack, stack_bytes); }
inline void start_switch(Shadow* from, void const* stack, std::size_t stack_bytes) {
  __sanitizer_start_switch_fiber(from != nullptr ? &from->asan_frames : nullptr, stack, stack_bytes);
}
inline void finish_switch(Shadow& self) { __sanitizer_finish_switch_fiber(self.asan_frames, nullptr, nullptr); }
/// A local variable of the running fiber that ASan keeps elsewhere, to find uses after return.
inline bool in_moved_frame(void const* local) {
  void* const frames = __asan_get_current_fake_stack();
  return frames != nullptr &&
         __asan_addr_is_in_fake_stack(frames, const_cast<void*>(local), nullptr, nullptr) != nullptr;
}
#else
inline constexpr bool address = false;
inline void unpoison(void*, std::size_t) {}
/// `from` is null when the fiber will not be resumed.
inline void start_switch(Shadow*, void const*, std::size_t) {}
inline void finish_switch(Shadow&) {}
inline bool in_moved_frame(void const*) { return false; }
#endif

#if defined(HIWAY_SIMT_TSAN)
inline constexpr bool thread = true;
inline void release(void* mark) { __tsan_release(mark); }
inline void acquire(void* mark) { __tsan_acquire(mark); }
inline void adopt_thread(Shadow& shadow) { shadow.tsan_fiber = __tsan_get_current_fiber(); }
inline void create(Shadow& shadow) { shadow.tsan_fiber = __tsan_create_fiber(0); }
inline void destroy(Shadow& shadow) { __tsan_destroy_fiber(shadow.tsan_fiber); }
inline void enter(Shadow& shadow) { __tsan_switch_to_fiber(shadow.tsan_fiber, __tsan_switch_to_fiber_no_sync); }
#else
inline constexpr bool thread = false;
/// States an order between lanes or CPU threads: what precedes release(mark) precedes what follows acquire(mark).
inline void release(void*) {}
inline void acquire(void*) {}
inline void adopt_thread(Shadow&) {}
inline void create(Shadow&) {}
inline void destroy(Shadow&) {}
inline void enter(Shadow&) {}
#endif

/// Copies words of 4 bytes, each in one piece, that others may write meanwhile. TSan does not see it: the copy orders
/// nothing, and what lies between shared words may be a lane's own. (device.cpp)
void copy_unseen(void* to, void const* from, std::size_t bytes);

}  // namespace hiway::simt::sanitizer
