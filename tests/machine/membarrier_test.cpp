// On a system without membarrier a pipeline's readers take from each other's hands by locked operations (ADR 0047).
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <hiway/hiway.hpp>
#include <vector>

#include "hiway/machine/thread_machine.hpp"

#if defined(__linux__)
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>

namespace {

using namespace hiway;

/// From here on membarrier fails in this process as where the system does not have it.
bool take_membarrier_away() {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog const program{4, rules};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool can_be_taken_away() {
  pid_t const child = fork();
  if (child == 0) _exit(take_membarrier_away() ? 0 : 1);
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/// Two threads put, three get: how many items were not got exactly once.
unsigned items_not_got_once() {
  constexpr std::uint32_t each = 200'000;
  std::vector<std::atomic<std::uint8_t>> times(2 * each);
  Pipeline pipe({.device = "simt"});
  auto& items = pipe.create_tunnel<std::uint32_t>("items", Direction::cpu_to_cpu, {.capacity_items = 4096});
  pipe.add_cpu_stage("writers",
                     [](Inlet<std::uint32_t> out) {
                       std::uint32_t const first = this_thread_context().thread * each;
                       for (std::uint32_t i = 0; i < each; ++i) out.put_h(first + i);
                     },
                     into(items), {.threads = 2});
  pipe.add_cpu_stage("readers", [&](Outlet<std::uint32_t> in) { in.for_each_h([&](std::uint32_t i) { ++times[i]; }); },
                     from(items), {.threads = 3});
  pipe.run();
  unsigned wrong = 0;
  for (auto const& n : times) wrong += n != 1;
  return wrong;
}

TEST(MembarrierDeathTest, WithoutItEveryItemIsGotOnce) {
  if (!can_be_taken_away()) GTEST_SKIP() << "seccomp filters are refused here";
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process of its own, which has not asked the system yet
  EXPECT_EXIT(
      {
        bool const taken = take_membarrier_away() && !has_asymmetric_fences();
        std::exit(taken && items_not_got_once() == 0 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
#endif
