// Open ends: clients, threads that are no stages, put requests into a running pipeline and get answers.
#include <atomic>
#include <cstdio>
#include <hiway/hiway.hpp>
#include <thread>
#include <vector>

struct Request {
  int client, number;
};
struct Answer {
  int client, steps;  // steps: -1 for a number that is refused
};

struct CountSteps {  // of the Collatz sequence; a bad request gets an answer: a failure would end the run for all
  HIWAY_DEVICE Answer operator()(Request const& r) const {
    if (r.number < 1) return {r.client, -1};
    int steps = 0;
    for (long long n = r.number; n != 1; ++steps) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    return {r.client, steps};
  }
};

int main() {
  hiway::Pipeline pipe;
  auto& requests = pipe.create_tunnel<Request>("requests", hiway::Direction::cpu_to_gpu);
  auto& answers = pipe.create_tunnel<Answer>("answers", hiway::Direction::gpu_to_cpu);
  hiway::Inlet<Request> const ask = requests.open_inlet();  // before the start
  hiway::Outlet<Answer> const answered = answers.open_outlet();
  pipe.add_gpu_stage("count steps", CountSteps{}, hiway::from(requests), hiway::into(answers));
  pipe.start();

  std::atomic<int> good{0}, refused{0};
  std::thread reader([&] {
    try {
      for (Answer a{}; answered.next_h(a); answered.end_task_h()) ++(a.steps < 0 ? refused : good);
    } catch (hiway::Aborted const& e) {  // the run has failed: no more answers
      std::fprintf(stderr, "reader: %s\n", e.what());
    }
  });
  std::vector<std::thread> clients;
  for (int client = 0; client < 4; ++client) {
    clients.emplace_back([=] {
      try {
        for (int number = 0; number < 100; ++number) ask.put_h({client, number});
      } catch (hiway::Aborted const& e) {  // the run has failed; the text says why
        std::fprintf(stderr, "client %d: %s\n", client, e.what());
      }
    });
  }
  for (std::thread& c : clients) c.join();
  ask.close_h();  // once, after the last put of the last client: now the run can end
  reader.join();  // next_h is false when every answer has been ended
  try {
    pipe.wait();
  } catch (hiway::Error const& e) {  // the run's first error
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  std::printf("%d answers, %d refused\n", good.load(), refused.load());
  return good == 396 && refused == 4 ? 0 : 1;
}
