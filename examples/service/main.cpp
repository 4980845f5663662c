// A service: clients, threads that are no stages, submit requests to a GPU stage. Each has a future or a callback of
// its own, and an error of a request is that request's alone.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <future>
#include <hiway/hiway.hpp>
#include <thread>
#include <vector>

struct CountSteps {  // of the Collatz sequence
  HIWAY_DEVICE int operator()(int const& number) const {
    if (number < 1) {
      hiway::fail_scope("the sequence begins at 1 or more");  // this request alone
      return 0;
    }
    int steps = 0;
    for (long long n = number; n != 1; ++steps) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    return steps;
  }
};

int main() {
  hiway::Service<int, int> service{CountSteps{}, {.most_open = 64}};

  std::atomic<int> good{0}, refused{0};
  std::vector<std::thread> clients;
  for (int client = 0; client < 4; ++client) {
    clients.emplace_back([&] {
      for (int number = 0; number < 100; ++number) {
        try {
          std::future<int> steps = service.submit(number, std::chrono::minutes(1));  // its deadline
          if (steps.get() >= 0) ++good;
        } catch (hiway::ScopeFailed const&) {  // by fail_scope
          ++refused;
        } catch (hiway::Error const& e) {  // DeadlineExceeded, or the run's error
          std::fprintf(stderr, "%d: %s\n", number, e.what());
        }
      }
    });
  }
  service.submit(27, [](hiway::ServiceResult<int> const& steps) {
    if (steps) std::printf("27: %d steps\n", steps.reply());
  });
  for (std::thread& c : clients) c.join();
  try {
    service.stop();                  // after what is under way
  } catch (hiway::Error const& e) {  // the run's first error
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  std::printf("%d answers, %d refused\n", good.load(), refused.load());
  return good == 396 && refused == 4 ? 0 : 1;
}
