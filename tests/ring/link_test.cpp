// Relays over a link that is no memory: what one home tells goes as messages, which come late, and of which only the
// newest need come. The halves share nothing; a copier stands in for what moves items.
#include "hiway/link.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "hiway/item.hpp"
#include "hiway/machine/thread_machine.hpp"
#include "hiway/relay.hpp"
#include "tests/environment.hpp"
#include "tests/ring/half_ring.hpp"

namespace {

using namespace hiway;

/// One way between two homes: messages that have been sent, and the number that came last.
struct Wire {
  std::deque<std::uint64_t> sent;
  std::uint64_t came = 0;

  /// Some of what was sent comes, in its order; what lies before it may be lost.
  void deliver(std::mt19937& random) {
    for (auto n = random() % (sent.size() + 1); n != 0; --n) {
      came = sent.front();
      sent.pop_front();
    }
  }
};
struct MessageLink {
  Wire* wire = nullptr;

  [[nodiscard]] bool is_set() const { return wire != nullptr; }
  template <class Machine>
  void tell(Machine, std::uint64_t n) const {
    wire->sent.push_back(n);
  }
  template <class Machine>
  [[nodiscard]] std::uint64_t hear(Machine) const {
    return wire->came;
  }
  template <class Machine>
  [[nodiscard]] std::uint64_t peek(Machine m) const {
    return hear(m);
  }
};
static_assert(Link<MessageLink, ThreadMachine>);
static_assert(Link<WordLink, ThreadMachine>);

TEST(Link, MessagesThatComeLateCarryATunnel) {
  constexpr std::uint32_t capacity = 8;
  constexpr std::uint32_t total = 5'000;
  auto const seed = static_cast<unsigned>(hiway_tests::from_environment("HIWAY_SEED", 1));
  SCOPED_TRACE(std::string("HIWAY_SEED=") + std::to_string(seed));
  std::mt19937 random(seed);
  ThreadMachine const m;
  hiway_tests::HalfRing outbox(RingPart::outbox, capacity);
  hiway_tests::HalfRing inbox(RingPart::inbox, capacity);
  Wire published, arrived, retired;
  RelayBy<MessageLink> out_tells{outbox.ring, {&published}};
  RelayBy<MessageLink> out_hears{outbox.ring, {&retired}};
  RelayBy<MessageLink> in_tells{inbox.ring, {&retired}};
  RelayBy<MessageLink> in_hears{inbox.ring, {&arrived}};
  std::uint64_t copied = 0;
  std::uint32_t put = 0;
  std::uint32_t got = 0;
  Control control;
  for (int step = 0; got != total; ++step) {
    ASSERT_LT(step, 10'000'000) << "put " << put << ", got " << got;
    switch (random() % 9) {
      case 0:
        if (put == total) break;
        if (hiway::Run const run = claim_put_run(m, outbox.ring, 1); run.count != 0) {
          commit_put(m, outbox.ring, run.first, control, WriteItem<std::uint32_t>{put});
          ++put;
        }
        break;
      case 1: tell(m, out_tells); break;
      case 2: published.deliver(random); break;
      case 3:  // the copier: items first, then the number that says they are there
        for (; copied != published.came; ++copied) inbox.items[copied % capacity] = outbox.items[copied % capacity];
        MessageLink{&arrived}.tell(m, copied);
        break;
      case 4: arrived.deliver(random); break;
      case 5: hear(m, in_hears); break;
      case 6:
        if (hiway::Run const run = claim_get_run(m, inbox.ring, 1, nullptr, Credit::early); run.count != 0) {
          std::uint32_t item = 0;
          finish_get(m, inbox.ring, run.first, control, Credit::early, ReadItem<std::uint32_t>{item});
          ASSERT_EQ(item, got);
          ++got;
        }
        break;
      case 7: tell(m, in_tells); break;
      default: retired.deliver(random); hear(m, out_hears);
    }
  }
  EXPECT_EQ(put, total);
}

}  // namespace
