// Fences of all threads, by membarrier(2).
#include "hiway/machine/thread_machine.hpp"

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace hiway {

#if defined(__linux__)
bool has_asymmetric_fences() noexcept {
  static bool const has = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  return has;
}
void fence_all_threads() noexcept { (void)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0); }
#else
bool has_asymmetric_fences() noexcept { return false; }
void fence_all_threads() noexcept {}
#endif

}  // namespace hiway
