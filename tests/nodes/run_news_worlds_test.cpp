// RunNews on an emulated network: all nodes in one thread, by a clock of the test's own. Any node may look next, and
// any connection hand on some bytes, in the middle of a message, too; a node may be killed, stopped or cut off at any
// moment. Each connection keeps its order, as TCP does; nothing is said of the order between two.
//
//   node 0  ==socket==  Way 0 -> k  ==socket==  node k
//           ==socket==  Way k -> 0  ==socket==
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "lib/nodes/run_news.hpp"
#include "tests/environment.hpp"
#include "tests/nodes/together.hpp"

namespace {

using hiway::detail::nodes::Channel;
using hiway::detail::nodes::Channels;
using hiway::detail::nodes::Descriptor;
using hiway::detail::nodes::Meeting;
using hiway::detail::nodes::RunNews;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr milliseconds patience{1000};

/// What happens to one of the nodes.
enum class Fault : std::uint8_t { none, killed, stopped, cut_off };

/// Bytes on their way from one node's socket to another's.
class Way {
 public:
  Way(int from, int to) : from_(from), to_(to) {}

  void cut() { is_cut_ = true; }
  /// Hands on up to so many bytes, or the end. True if something moved.
  bool move(std::size_t most) {
    if (is_cut_ || has_ended_) return false;
    std::array<char, 4096> bytes;
    ssize_t const got = recv(from_, bytes.data(), std::min(most, bytes.size()), MSG_DONTWAIT);
    if (got < 0) return false;
    has_ended_ = got == 0;
    if (has_ended_) return shutdown(to_, SHUT_WR) == 0;
    return send(to_, bytes.data(), static_cast<std::size_t>(got), MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
  }

 private:
  int from_, to_;
  bool is_cut_ = false, has_ended_ = false;
};

/// How a run ended on a node.
struct Ending {
  bool over = false;
  int node = -1;
  std::string why;
  bool gone = false;

  friend bool operator==(Ending const&, Ending const&) = default;
  friend std::ostream& operator<<(std::ostream& to, Ending const& e) {
    return to << (e.over ? "over" : (e.gone ? "lost " : "failed ") + std::to_string(e.node) + ": " + e.why);
  }
};

struct Node {
  std::unique_ptr<Meeting> meeting;
  std::unique_ptr<RunNews> news;
  bool is_alive = true;       // neither killed nor stopped
  bool has_given_up = false;  // no run begins here any more
  bool is_in_run = false;
  int says = 0;                     // how often it has still to say something in this run
  bool has_said_failed = false;     // in this run
  std::vector<bool> has_said_over;  // by run
  std::vector<Ending> endings;      // of its runs, in order
};

class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed), runs_(1 + below(3)), fault_(Fault(below(4))) {
    size_ = 2 + below(3);
    std::vector<Channels> channels(size_);
    for (Channels& c : channels) c.resize(size_);
    for (std::size_t node = 1; node < size_; ++node) {
      int const at_0 = connect(channels[0][node]);
      int const at_node = connect(channels[node][0]);
      ways_.emplace_back(at_0, at_node);
      ways_.emplace_back(at_node, at_0);
    }
    for (std::size_t node = 0; node < size_; ++node) {
      hiway::detail::nodes::Launch const launch{
          .node = static_cast<int>(node), .size = static_cast<int>(size_), .place = {}};
      Node& n = nodes_.emplace_back();
      n.meeting = std::make_unique<Meeting>(launch, std::move(channels[node]));
      n.news = std::make_unique<RunNews>(*n.meeting, patience);
    }
    victim_ = below(size_);
    fault_at_ = below(200);
    fails_ = below(2) != 0;
  }

  void run() {
    for (std::size_t action = 0; action < 200; ++action) {
      if (action == fault_at_) strike();
      act();
    }
    // From now on all is fair. A node that says nothing is found after the patience.
    for (int rounds = 0; !is_done() && rounds < 2000; ++rounds) go_round(true);
    ASSERT_TRUE(is_done()) << "a node waits for ever";
    for (Node const& node : nodes_) EXPECT_TRUE(has_struck_ || node.endings.size() == runs_);
    look_at_endings();
  }

  friend std::ostream& operator<<(std::ostream& to, World const& w) {
    to << w.size_ << " nodes, " << w.runs_ << " runs, fault " << static_cast<int>(w.fault_) << " of node " << w.victim_
       << " at " << w.fault_at_ << "\n";
    for (Node const& node : w.nodes_) {
      to << "  " << (node.is_alive ? "" : "(not there) ");
      for (Ending const& e : node.endings) to << e << "; ";
      to << "\n";
    }
    return to;
  }

 private:
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

  /// The network's end of a new connection, whose other end the node has.
  int connect(std::unique_ptr<Channel>& at_node) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) throw hiway::Error("no socket");
    at_node = std::make_unique<Channel>(Descriptor(ends[0]));
    return sockets_.emplace_back(ends[1]).number();
  }

  void act() {
    now_ += microseconds(300);
    std::size_t const node = below(size_);
    switch (below(6)) {
      case 0: return begin(node);
      case 1: return say(node);
      case 2:
      case 3: return look(node);
      default: ways_[below(ways_.size())].move(below(8) == 0 ? 4096 : 1 + below(30));
    }
  }

  void go_round(bool they_say) {
    for (std::size_t node = 0; node < size_; ++node) {
      begin(node);
      if (they_say) say(node);
      look(node);
    }
    for (Way& way : ways_) way.move(4096);
    now_ += milliseconds(5);
  }

  void strike() {
    if (fault_ == Fault::none) return;
    if (fault_ != Fault::killed) {  // silence is noticed only of a node that has been heard in the run
      for (int rounds = 0; rounds < 100; ++rounds) go_round(false);
      runs_ = std::min(runs_, nodes_[victim_].endings.size() + 1);
    }
    has_struck_ = true;
    Node& node = nodes_[victim_];
    if (fault_ == Fault::cut_off) {
      for (std::size_t w = 0; w < ways_.size(); ++w) {
        if (victim_ == 0 || w / 2 + 1 == victim_) ways_[w].cut();
      }
      return;
    }
    node.is_alive = false;
    if (fault_ == Fault::stopped) return;
    node.news.reset();
    node.meeting.reset();
  }

  void begin(std::size_t number) {
    Node& node = nodes_[number];
    if (!node.is_alive || node.is_in_run || node.has_given_up || node.endings.size() == runs_) return;
    try {
      node.news->begin();
    } catch (hiway::Error const&) {
      node.has_given_up = true;
      return;
    }
    node.is_in_run = true;
    node.says = below(4) == 0 ? 2 : 1;
    node.has_said_failed = false;
    node.has_said_over.push_back(false);
  }

  /// That its part is over, or that it has failed; sometimes the second after the first, as an abort may.
  void say(std::size_t number) {
    Node& node = nodes_[number];
    if (!node.is_alive || !node.is_in_run || node.says == 0) return;
    if (--node.says == 0 && fails_ && below(3) == 0) {
      has_failed_ = node.has_said_failed = true;
      return node.news->say_failed(why(number, node.endings.size()));
    }
    node.has_said_over.back() = true;
    node.news->say_over();
  }

  void look(std::size_t number) {
    Node& node = nodes_[number];
    if (!node.is_alive || !node.is_in_run) return;
    node.news->step(now_);
    if (!node.news->is_settled()) return;
    node.is_in_run = false;
    Ending ending{.over = node.news->is_over()};
    EXPECT_NE(ending.over, node.news->failure() != nullptr) << "one verdict";
    if (auto const* const failure = node.news->failure())
      ending = {.node = failure->node, .why = failure->gone ? "" : failure->why, .gone = failure->gone};
    node.has_given_up = node.has_given_up || ending.gone;
    look_at(number, ending);
    node.endings.push_back(ending);
  }

  static std::string why(std::size_t node, std::size_t run) {
    return "run " + std::to_string(run) + " of " + std::to_string(node);
  }

  [[nodiscard]] bool is_done() const {
    return std::ranges::all_of(nodes_, [&](Node const& n) {
      return !n.is_alive || n.has_given_up || (n.endings.size() == runs_ && !n.is_in_run);
    });
  }

  [[nodiscard]] bool is_apart(std::size_t node) const {
    return has_struck_ && (victim_ == 0 || node == victim_);  // from node 0, from when on the fault has struck
  }

  void look_at_endings() const {
    for (std::size_t run = 0; run < runs_; ++run) {
      std::optional<Ending> of_all;  // of those that had not lost node 0
      for (std::size_t number = 0; number < size_; ++number) {
        if (run >= nodes_[number].endings.size()) continue;
        Ending const& ending = nodes_[number].endings[run];
        bool const by_itself =
            is_apart(number) && number != 0 &&
            ((ending.gone && ending.node == 0) || (!ending.gone && ending.node == static_cast<int>(number)));
        if (by_itself) continue;
        if (is_apart(0) && number == 0) continue;
        if (!of_all) of_all = ending;
        EXPECT_EQ(ending, *of_all) << "node " << number << ", run " << run;
      }
    }
  }

  /// When it has come.
  void look_at(std::size_t number, Ending const& ending) const {
    std::size_t const run = nodes_[number].endings.size();
    if (ending.over) {
      for (Node const& n : nodes_) EXPECT_TRUE(run < n.has_said_over.size() && n.has_said_over[run]) << "not all are";
      return;
    }
    ASSERT_GE(ending.node, 0) << "neither over nor failed";
    if (!ending.gone) {
      EXPECT_TRUE(has_failed_);
      EXPECT_EQ(ending.why, why(static_cast<std::size_t>(ending.node), run));
      return;
    }
    EXPECT_TRUE(has_struck_);
    bool const is_victim = ending.node == static_cast<int>(victim_);
    EXPECT_TRUE(is_victim || is_apart(number) || victim_ == 0) << "node " << number << " lost node " << ending.node;
    bool const lost_node_0 = number != 0 && ending.node == 0;
    EXPECT_FALSE(lost_node_0 && nodes_[number].has_said_failed) << "its own failure is its verdict";
  }

  std::mt19937_64 random_;
  std::size_t runs_;
  Fault fault_;
  std::size_t size_ = 0, victim_ = 0, fault_at_ = 0;
  bool fails_ = false, has_failed_ = false, has_struck_ = false;
  RunNews::Time now_ = RunNews::Time{} + std::chrono::seconds(1);
  std::vector<Descriptor> sockets_;  // the network's
  std::vector<Way> ways_;            // 0 -> 1, 1 -> 0, 0 -> 2, 2 -> 0, ...
  std::vector<Node> nodes_;
};

TEST(RunNewsWorlds, HaveOneVerdict) {
  std::uint64_t const first = hiway_tests::from_environment("HIWAY_SEED", 1);
  std::uint64_t const worlds = hiway_tests::from_environment("HIWAY_WORLDS", 3000);
  for (std::uint64_t seed = first; seed < first + worlds; ++seed) {
    World world(seed);
    world.run();
    if (testing::Test::HasFailure()) FAIL() << "HIWAY_SEED=" << seed << ": " << world;
  }
}

}  // namespace
