// Lines on an emulated network: nodes in one process, a thread each. What a node sends lies in the network until the
// receiver's progress() takes some of it, from whom it likes: late, in any order between nodes, a copy's rows and words
// by themselves. Some nodes are direct to each other, others are not.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hiway/machine/thread_machine.hpp"
#include "lib/nodes/line/line.hpp"
#include "lib/nodes/line/network.hpp"
#include "tests/environment.hpp"
#include "tests/nodes/ucx/line_traffic.hpp"

namespace {

using hiway::Copy;
using hiway::CopyStream;
using hiway::Word;
using hiway::WordCopy;
using hiway::detail::nodes::Bytes;
using hiway::detail::nodes::Deadline;
using hiway::detail::nodes::Listener;
using hiway::detail::nodes::Meeting;
using hiway::detail::nodes::Network;
using hiway_tests::expect;
using hiway_tests::fresh_name;
using hiway_tests::Got;
using hiway_tests::Parcel;
using hiway_tests::Road;
using hiway_tests::together;
using hiway_tests::Traffic;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

class Random {
 public:
  explicit Random(std::uint64_t seed) : random_(seed) {}
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
  template <class T>
  void shuffle(std::vector<T>& all) {
    std::ranges::shuffle(all, random_);
  }

 private:
  std::mt19937_64 random_;
};

/// What lies between the nodes. *Threads*: all.
class Fabric {
 public:
  struct Piece {
    std::byte* target;
    Bytes bytes;
    bool is_word = false;
  };

  Fabric(int size, std::vector<bool> is_direct)
      : size_(size), is_direct_(std::move(is_direct)), ways_(is_direct_.size()) {}

  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bool is_direct(int one, int other) const {
    return is_direct_[place(std::min(one, other), std::max(one, other))];
  }
  void give(int from, int to, std::vector<Piece> pieces) {
    std::scoped_lock const lock(mutex_);
    for (Piece& piece : pieces) ways_[place(from, to)].push_back(std::move(piece));
  }
  /// The next, if there is one.
  std::optional<Piece> take(int from, int to) {
    std::scoped_lock const lock(mutex_);
    auto& way = ways_[place(from, to)];
    if (way.empty()) return std::nullopt;
    Piece piece = std::move(way.front());
    way.pop_front();
    return piece;
  }

 private:
  [[nodiscard]] std::size_t place(int from, int to) const { return static_cast<std::size_t>(from * size_ + to); }

  int size_;
  std::vector<bool> is_direct_;
  std::mutex mutex_;
  std::vector<std::deque<Piece>> ways_;
};

void store(Word<std::uint64_t>* word, std::uint64_t value) {
  hiway::ThreadMachine{}.store(*word, value, hiway::MemoryOrder::release);
}

/// Rows of `copy`, as pieces.
void add_rows(std::vector<Fabric::Piece>& pieces, Copy const& copy) {
  for (std::size_t row = 0; row != copy.rows; ++row) {
    auto const* const from = static_cast<std::byte const*>(copy.source) + row * copy.pitch;
    pieces.push_back({static_cast<std::byte*>(copy.target) + row * copy.pitch, Bytes(from, from + copy.bytes)});
  }
}

/// To a node that is not direct: sources are read when progress() comes to a submission.
class LateCopies final : public CopyStream {
 public:
  LateCopies(Fabric& fabric, int from, int to) : fabric_(fabric), from_(from), to_(to) {}

  std::uint64_t submit(std::span<Copy const> copies, std::span<WordCopy const> words) override {
    expect(submitted_ - completed_ < most_under_way, "submissions are not too many");
    waiting_.push_back({{copies.begin(), copies.end()}, {words.begin(), words.end()}});
    return ++submitted_;
  }
  std::uint64_t completed() override { return completed_; }
  [[nodiscard]] bool is_full() const { return submitted_ - completed_ == most_under_way; }

  void send_one(Random& random) {
    if (waiting_.empty()) return;
    std::vector<Fabric::Piece> pieces;
    for (Copy const& copy : waiting_.front().copies) add_rows(pieces, copy);
    random.shuffle(pieces);
    for (WordCopy const& w : waiting_.front().words) {
      auto const* const value = reinterpret_cast<std::byte const*>(&w.value);
      pieces.push_back({reinterpret_cast<std::byte*>(w.word), Bytes(value, value + sizeof w.value), true});
    }
    fabric_.give(from_, to_, std::move(pieces));
    waiting_.pop_front();
    ++completed_;
  }

 private:
  struct Submission {
    std::vector<Copy> copies;
    std::vector<WordCopy> words;
  };

  Fabric& fabric_;
  int from_, to_;
  std::deque<Submission> waiting_;
  std::uint64_t submitted_ = 0, completed_ = 0;
};

/// To a direct node: at once.
class DirectCopies final : public CopyStream {
 public:
  std::uint64_t submit(std::span<Copy const> copies, std::span<WordCopy const> words) override {
    for (Copy const& copy : copies) {
      std::vector<Fabric::Piece> rows;
      add_rows(rows, copy);
      for (Fabric::Piece const& row : rows) std::memcpy(row.target, row.bytes.data(), row.bytes.size());
    }
    for (WordCopy const& w : words) store(w.word, w.value);
    return ++submitted_;
  }
  std::uint64_t completed() override { return submitted_; }

 private:
  std::uint64_t submitted_ = 0;
};

class EmulatedNetwork final : public Network {
 public:
  EmulatedNetwork(Fabric& fabric, int node, std::uint64_t seed) : fabric_(fabric), node_(node), random_(seed) {}

  [[nodiscard]] std::byte* allocate(std::size_t bytes) override {
    memory_ = std::make_unique<std::uint64_t[]>(bytes / sizeof(std::uint64_t) + 8);
    auto const at = reinterpret_cast<std::uintptr_t>(memory_.get());
    return reinterpret_cast<std::byte*>((at + 63) / 64 * 64);
  }
  void connect(Meeting&, Deadline) override {}
  [[nodiscard]] std::byte* here(int node, std::uint64_t address, std::size_t) override {
    return fabric_.is_direct(node_, node) ? reinterpret_cast<std::byte*>(address) : nullptr;
  }
  [[nodiscard]] std::unique_ptr<CopyStream> copies_to(int node) override {
    if (fabric_.is_direct(node_, node)) return std::make_unique<DirectCopies>();
    auto copies = std::make_unique<LateCopies>(fabric_, node_, node);
    late_.push_back(copies.get());
    return copies;
  }
  /// From now on it sends nothing until as much is under way as there may be, and for many steps after that.
  void stall() { stalled_ = 500; }
  bool progress() override {
    if (stalled_ != 0 && std::ranges::any_of(late_, [](LateCopies const* copies) { return copies->is_full(); }))
      --stalled_;
    for (LateCopies* const copies : late_) {
      if (stalled_ != 0) break;
      for (std::size_t n = random_.below(3); n != 0; --n) copies->send_one(random_);
    }
    bool moved = false;
    for (std::size_t n = random_.below(6); n != 0; --n) {
      std::optional<Fabric::Piece> const piece =
          fabric_.take(static_cast<int>(random_.below(static_cast<std::size_t>(fabric_.size()))), node_);
      if (!piece) continue;
      moved = true;
      std::uint64_t value = 0;
      if (piece->is_word) {
        std::memcpy(&value, piece->bytes.data(), sizeof value);
        store(reinterpret_cast<Word<std::uint64_t>*>(piece->target), value);
      } else {
        std::memcpy(piece->target, piece->bytes.data(), piece->bytes.size());
      }
    }
    return moved;
  }
  [[nodiscard]] bool begin_nap() override { return false; }
  void end_nap() override {}
  [[nodiscard]] int descriptor() const override { return -1; }

 private:
  Fabric& fabric_;
  int node_;
  Random random_;
  std::unique_ptr<std::uint64_t[]> memory_;
  std::vector<LateCopies*> late_;
  unsigned stalled_ = 0;
};

/// Makes lines of that network; `made` is the last one's.
Traffic::MakeLine lines_over(Fabric& fabric, std::uint64_t seed, EmulatedNetwork** made = nullptr) {
  return [&fabric, seed, made](Meeting& meeting, auto departures, auto arrivals, Deadline until) {
    int const node = meeting.node();
    auto network = std::make_unique<EmulatedNetwork>(fabric, node, seed * 8 + static_cast<std::uint64_t>(node));
    if (made != nullptr) *made = network.get();
    return std::make_unique<hiway::detail::nodes::Line>(std::move(network), meeting, std::move(departures),
                                                        std::move(arrivals), until);
  };
}

/// A number of the nodes, at least one.
std::vector<int> some_of(int size, Random& random) {
  std::vector<int> nodes;
  for (int node = 0; node < size; ++node) {
    if (random.below(2) != 0) nodes.push_back(node);
  }
  if (nodes.empty()) nodes.push_back(static_cast<int>(random.below(static_cast<std::size_t>(size))));
  return nodes;
}

Road random_road(int size, Random& random) {
  return {.writers = some_of(size, random),
          .readers = some_of(size, random),
          .items = static_cast<std::uint32_t>(random.below(60)),
          .capacity = static_cast<std::uint32_t>(1 + random.below(8))};
}

/// What goes wrong, by node.
std::vector<std::string> run_world(std::uint64_t seed) {
  Random random(seed);
  int const size = 2 + static_cast<int>(random.below(3));
  std::vector<bool> is_direct(static_cast<std::size_t>(size * size));
  for (std::size_t i = 0; i < is_direct.size(); ++i) is_direct[i] = random.below(3) == 0;
  Fabric fabric(size, is_direct);
  Road const one = random_road(size, random);
  Road other = random_road(size, random);
  std::vector<int>& all = random.below(2) == 0 ? other.writers : other.readers;  // a pipeline has some stage
  all.resize(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  std::size_t const runs = 1 + random.below(4);
  // Of all runs but the last: the node whose writer of `one` fails; -1: none.
  std::vector<int> fails_at(runs, -1);
  for (std::size_t run = 0; run + 1 < runs; ++run) {
    if (one.items != 0 && random.below(2) == 0) fails_at[run] = one.writers[random.below(one.writers.size())];
  }
  std::uint32_t const fatal = one.items == 0 ? 0 : static_cast<std::uint32_t>(random.below(one.items));
  return together(Listener(fresh_name()), size, [&](Meeting& meeting) {
    Traffic traffic(meeting, lines_over(fabric, seed));
    bool fails = false;
    auto const fail_at = [&](std::uint32_t n) {
      if (fails && n % one.items == fatal) throw std::runtime_error("enough");
    };
    Got const& first = traffic.add<Parcel<4>>(
        one, [](std::uint32_t) {}, fail_at);
    Got const& second = traffic.add<Parcel<40>>(other);
    traffic.connect();
    for (std::size_t run = 0; run != runs; ++run) {
      fails = fails_at[run] == meeting.node();
      if (fails_at[run] < 0) {
        traffic.run();
        (void)traffic.shares(first);
        (void)traffic.shares(second);
        continue;
      }
      std::string const error = traffic.run_that_fails(fails_at[run]);
      expect(error.find(fails ? "enough" : "aborted") != std::string::npos, "it fails: " + error);
    }
  });
}

TEST(NodesLineWorlds, GiveEveryItemOnce) {
  std::uint64_t const first = hiway_tests::from_environment("HIWAY_SEED", 1);
  std::uint64_t const worlds = hiway_tests::from_environment("HIWAY_WORLDS", 300);
  for (std::uint64_t seed = first; seed < first + worlds; ++seed)
    ASSERT_THAT(run_world(seed), Each(IsEmpty())) << "HIWAY_SEED=" << seed;
}

// Nodes 0 and 2 store into each other's memory, or send messages.
TEST(NodesLineWorlds, ALineIsNearIfItStoresIntoTheMemoryOfAllOthers) {
  constexpr int size = 3;
  Road const road{.writers = {0, 1}, .readers = {2}, .items = 40, .capacity = 4};
  for (bool const to_all : {true, false}) {
    std::vector<bool> is_direct(size * size, true);
    is_direct[2] = to_all;  // between 0 and 2
    Fabric fabric(size, is_direct);
    std::vector<int> is_near(size, -1);
    auto const errors = together(Listener(fresh_name()), size, [&](Meeting& meeting) {
      auto const make = [&](Meeting& there, auto departures, auto arrivals, Deadline until) {
        auto line = lines_over(fabric, 1)(there, std::move(departures), std::move(arrivals), until);
        is_near[static_cast<std::size_t>(there.node())] = line->is_near() ? 1 : 0;
        return line;
      };
      Traffic traffic(meeting, make);
      traffic.add<Parcel<4>>(road);
      traffic.connect();
      traffic.run();
    });
    EXPECT_THAT(errors, Each(IsEmpty()));
    EXPECT_THAT(is_near, ElementsAre(to_all ? 1 : 0, 1, to_all ? 1 : 0));
  }
}

// Of two nodes one can send nothing for a while, items or words that tell of them.
TEST(NodesLineWorlds, NoMoreIsUnderWayThanThereMayBe) {
  Road const road{.writers = {0}, .readers = {1}, .items = 400, .capacity = 400};
  for (int const stalls : {0, 1}) {
    Fabric fabric(2, std::vector<bool>(4));
    auto const errors = together(Listener(fresh_name()), 2, [&](Meeting& meeting) {
      EmulatedNetwork* network = nullptr;
      Traffic traffic(meeting, lines_over(fabric, 1, &network));
      Got const& got = traffic.add<Parcel<4>>(
          road, [](std::uint32_t) {}, [](std::uint32_t) { usleep(50); });
      traffic.connect();
      traffic.begin();
      if (meeting.node() == stalls) network->stall();
      traffic.pipe.start();
      traffic.finish();
      (void)traffic.shares(got);
    });
    EXPECT_THAT(errors, Each(IsEmpty())) << "of node " << stalls;
  }
}

}  // namespace
