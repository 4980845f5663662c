// The smallest pipeline over nodes: numbers go from node 0 to the GPUs of all nodes, their squares come back.
//   hiway launch -n 3 example_nodes
#include <cstdio>
#include <hiway/cluster.hpp>
#include <hiway/hiway.hpp>
#include <string>
#include <vector>

struct Square {
  long value;
  int node;  // where it was computed
};
struct Work {  // a GPU stage in value form
  int node;
  HIWAY_DEVICE Square operator()(int const& x) const { return {static_cast<long>(x) * x, node}; }
};

int main() {
  hiway::Cluster nodes;  // waits until all are here
  hiway::Pipeline pipe({.cluster = &nodes});
  auto& numbers = pipe.create_tunnel<int>("numbers", hiway::Direction::cpu_to_gpu);
  auto& squares = pipe.create_tunnel<Square>("squares", hiway::Direction::gpu_to_cpu);
  long sum = 0;
  std::vector<int> computed(nodes.size());
  auto const feed = [](hiway::Inlet<int> out) {
    for (int i = 1; i <= 100'000; ++i) out.put_h(i);
  };
  auto const add = [&](Square const& square) {
    sum += square.value;
    ++computed[square.node];
  };
  pipe.add_cpu_stage("feed", feed, hiway::into(numbers), {.node = 0});
  pipe.add_gpu_stage("square", Work{nodes.node()}, hiway::from(numbers), hiway::into(squares),
                     {.nodes = hiway::all_nodes});
  pipe.add_cpu_stage("add", add, hiway::from(squares));  // on node 0, too
  pipe.run();                                            // on all nodes; returns when all have ended
  if (nodes.node() != 0) return 0;
  std::string line = "the squares up to 100000 add up to " + std::to_string(sum);
  for (int node = 0; node < nodes.size(); ++node)
    line += ", node " + std::to_string(node) + ": " + std::to_string(computed[node]);
  std::puts(line.c_str());
  return sum == 333338333350000 ? 0 : 1;
}
