#include "bench/natural_stages.hpp"

#include <algorithm>
#include <hiway/backend.hpp>
#include <utility>

namespace bench {

template <std::size_t Bytes>
struct NaturalCheck {
  hiway::View<Tally> tallies;
  HIWAY_DEVICE void operator()(Numbered<Bytes> const& item) const {
    tallies[hiway::thread_index()].add(item.words[0], item.differences());
  }
};

template <std::size_t Bytes>
struct NaturalSource {
  using Item = Numbered<Bytes>;
  hiway::View<Order> order;
  HIWAY_DEVICE void operator()(hiway::Inlet<Item> out) const {
    Order const todo = order[0];
    Item item;
    for (std::uint64_t i = hiway::thread_index(); i < todo.items; i += hiway::thread_count()) {
      bool const planted = i == todo.victim();
      if (planted && todo.plant == Plant::lose) continue;
      item.number(static_cast<std::uint32_t>(todo.first + i - (planted && todo.plant == Plant::duplicate ? 1 : 0)));
      item.words[Item::count - 1] ^= planted && todo.plant == Plant::alter ? 0x100U : 0U;
      out.put_d(item);
    }
  }
};

template <std::size_t Bytes>
struct NaturalAnswer {
  HIWAY_DEVICE Numbered<Bytes> operator()(Numbered<Bytes> const& item) const {
    Numbered<Bytes> answer;
    for (std::uint32_t i = 0; i != Numbered<Bytes>::count; ++i) answer.words[i] = item.words[i] + 1;
    return answer;
  }
};

std::size_t most_gpu_threads(std::string const& device) {
  constexpr std::size_t threads_of_a_block = 256;
  return threads_of_a_block * std::max(1U, hiway::make_backend(device)->processors());
}

template <std::size_t Bytes>
void add_check_stage(hiway::Pipeline& pipe, hiway::Tunnel<Numbered<Bytes>>& from, hiway::View<Tally> tallies) {
  pipe.add_gpu_stage("check", NaturalCheck<Bytes>{tallies}, hiway::from(from));
}
template <std::size_t Bytes>
void add_source_stage(hiway::Pipeline& pipe, hiway::Tunnel<Numbered<Bytes>>& into, hiway::View<Order> order) {
  pipe.add_gpu_stage("source", NaturalSource<Bytes>{order}, hiway::into(into));
}
template <std::size_t Bytes>
void add_answer_stage(hiway::Pipeline& pipe, hiway::Tunnel<Numbered<Bytes>>& from, hiway::Tunnel<Numbered<Bytes>>& into,
                      std::vector<int> nodes) {
  pipe.add_gpu_stage("answer", NaturalAnswer<Bytes>{}, hiway::from(from), hiway::into(into),
                     {.nodes = std::move(nodes)});
}

#define BENCH_NATURAL_STAGES(Bytes)                                                                             \
  template void add_check_stage<Bytes>(hiway::Pipeline&, hiway::Tunnel<Numbered<Bytes>>&, hiway::View<Tally>);  \
  template void add_source_stage<Bytes>(hiway::Pipeline&, hiway::Tunnel<Numbered<Bytes>>&, hiway::View<Order>); \
  template void add_answer_stage<Bytes>(hiway::Pipeline&, hiway::Tunnel<Numbered<Bytes>>&,                      \
                                        hiway::Tunnel<Numbered<Bytes>>&, std::vector<int>)
BENCH_NATURAL_STAGES(4);
BENCH_NATURAL_STAGES(16);
BENCH_NATURAL_STAGES(64);

}  // namespace bench
