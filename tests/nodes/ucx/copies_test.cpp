// Copies into other processes' memory, and the words that tell of them.
#include <algorithm>
#include <array>
#include <random>

#include "lib/nodes/line/arrived_words.hpp"
#include "lib/nodes/ucx/remote_copies.hpp"
#include "tests/nodes/ucx/processes.hpp"

namespace {

using hiway::Copy;
using hiway::MemoryOrder;
using hiway::ThreadMachine;
using hiway::Word;
using hiway::WordCopy;
using hiway::detail::nodes::ArrivedWords;
using hiway::detail::nodes::OwnMemory;
using hiway::detail::nodes::RemoteCopies;
using hiway_tests::expect;
using hiway_tests::in_processes;
using hiway_tests::Node;
using hiway_tests::patience;
using hiway_tests::progress_until;
using hiway_tests::shared_memory;
using hiway_tests::steady_clock;
using hiway_tests::tcp;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using NodesUcxCopies = hiway_tests::OverUcx;

INSTANTIATE_TEST_SUITE_P(Over, NodesUcxCopies, testing::Values(tcp, shared_memory), hiway_tests::name_of_way);

constexpr std::size_t most_bytes = std::size_t{1} << 20;
constexpr std::uint64_t slots = 16;

// How a node gets what another one sends: slots of the largest batch, and two words that tell of batches.
struct Inbox {
  OwnMemory& memory;
  std::uint64_t words[3]{};  // local: told at once, told after, retired
  ArrivedWords arrived;

  explicit Inbox(Node& node) : memory(node.port.allocate(slots * most_bytes + 64)) {
    for (std::size_t i = 0; i != 3; ++i) arrived.add(word_at(memory.address(), i), local(i));
  }
  static Word<std::uint64_t>& word_at(std::byte* inbox, std::size_t i) {
    return reinterpret_cast<Word<std::uint64_t>*>(inbox + slots * most_bytes)[i];
  }
  Word<std::uint64_t>& local(std::size_t i) { return reinterpret_cast<Word<std::uint64_t>&>(words[i]); }
  std::uint64_t told(std::size_t i) { return ThreadMachine{}.load(local(i), MemoryOrder::acquire); }
};

// Batch n's bytes and their number.
std::vector<std::byte> const& pattern() {
  static std::vector<std::byte> const bytes = [] {
    std::vector<std::byte> made(most_bytes + 256);
    std::mt19937 random(7);
    for (std::byte& b : made) b = static_cast<std::byte>(random());
    return made;
  }();
  return bytes;
}
std::byte const* batch(std::uint64_t n) { return pattern().data() + n * 37 % 251; }
std::size_t bytes_of_batch(std::uint64_t n) {
  std::uint64_t const mixed = n * 0x9E3779B97F4A7C15u >> 40;
  if (n % 1000 == 1) return most_bytes - mixed % 4096;
  if (n % 50 == 2) return 1 + mixed % 65536;
  return 1 + mixed % 700;
}

// Between this node and one other: it sends `count` batches and reads as many. Each is whole before both of its words;
// the third word, put back, tells that it has been read.
class Exchange {
 public:
  Exchange(Node& node, Inbox& inbox, int other, std::byte* others_inbox, std::uint64_t count)
      : copies_(node.port, other), inbox_(inbox), others_inbox_(others_inbox), count_(count) {}

  /// True once all is done.
  bool step() {
    std::uint64_t const done = copies_.completed();
    expect(done >= completed_, "completed() grows");
    completed_ = done;
    read();
    if (retired_ != read_ && has_room()) {
      WordCopy const word[] = {{&Inbox::word_at(others_inbox_, 2), retired_ = read_}};
      submitted_ = copies_.submit({}, word);
    }
    while (sent_ != count_ && sent_ < inbox_.told(2) + slots && has_room()) send(++sent_);
    return retired_ == count_ && inbox_.told(2) == count_ && completed_ == submitted_;
  }

 private:
  [[nodiscard]] bool has_room() const { return submitted_ - completed_ < RemoteCopies::most_under_way; }
  void send(std::uint64_t n) {
    std::byte* const slot = others_inbox_ + n % slots * most_bytes;
    std::size_t const first = bytes_of_batch(n) / 3;
    Copy const parts[] = {{slot, batch(n), first}, {slot + first, batch(n) + first, bytes_of_batch(n) - first}};
    WordCopy const words[] = {{&Inbox::word_at(others_inbox_, 0), n}, {&Inbox::word_at(others_inbox_, 1), n}};
    submitted_ = copies_.submit(parts, words);
  }
  void read() {
    std::uint64_t const first_before = inbox_.told(0);
    std::uint64_t const second_before = inbox_.told(1);
    inbox_.arrived.step();
    std::uint64_t const first = inbox_.told(0);
    std::uint64_t const second = inbox_.told(1);
    expect(first >= first_before && second >= second_before, "words grow");
    expect(first >= second_before, "a submission's words arrive in their order");
    for (std::uint64_t const to = (std::max)(first, second); read_ != to;) {
      std::uint64_t const n = ++read_;
      expect(std::memcmp(inbox_.memory.address() + n % slots * most_bytes, batch(n), bytes_of_batch(n)) == 0,
             "batch " + std::to_string(n) + " is whole when its word has come");
    }
  }

  RemoteCopies copies_;
  Inbox& inbox_;
  std::byte* others_inbox_;
  std::uint64_t count_;
  std::uint64_t sent_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t retired_ = 0;
  std::uint64_t submitted_ = 0;
  std::uint64_t completed_ = 0;
};

// Each node with each of the others.
void exchange_all(Node& node, std::uint64_t count) {
  auto const size = static_cast<std::size_t>(node.meeting.size());
  std::vector<std::unique_ptr<Inbox>> inboxes(size);
  std::array<std::byte*, 4> addresses{};  // of the inbox for each node
  for (std::size_t k = 0; k != size; ++k) {
    if (static_cast<int>(k) == node.number()) continue;
    inboxes[k] = std::make_unique<Inbox>(node);
    addresses[k] = inboxes[k]->memory.address();
  }
  node.connect();
  auto const all = node.exchange(addresses);
  std::vector<std::unique_ptr<Exchange>> exchanges;
  for (std::size_t k = 0; k != size; ++k) {
    if (inboxes[k] == nullptr) continue;
    std::byte* const others = all[k][static_cast<std::size_t>(node.number())];
    exchanges.push_back(std::make_unique<Exchange>(node, *inboxes[k], static_cast<int>(k), others, count));
  }
  progress_until(
      node, "all batches",
      [&] {
        bool done = true;
        for (auto const& exchange : exchanges) done = exchange->step() && done;
        return done;
      },
      seconds(40));
  node.leave_together();
}

TEST_P(NodesUcxCopies, ArriveWholeBeforeTheirWords) {
  bool const over_tcp = GetParam().name == tcp.name;
  EXPECT_THAT(in_processes(GetParam(), 2, [&](Node& node) { exchange_all(node, over_tcp ? 25000 : 50000); }),
              Each(IsEmpty()));
}
TEST_P(NodesUcxCopies, GoToSeveralNodesAtOnce) {
  EXPECT_THAT(in_processes(GetParam(), 3, [](Node& node) { exchange_all(node, 5000); }), Each(IsEmpty()));
}

// UCX cuts and joins each message then.
TEST(NodesUcxCopies, ArriveWholeInSmallSegments) {
  setenv("UCX_TCP_TX_SEG_SIZE", "8k", 1);
  EXPECT_THAT(in_processes(tcp, 2, [](Node& node) { exchange_all(node, 5000); }), Each(IsEmpty()));
  unsetenv("UCX_TCP_TX_SEG_SIZE");
}

// Node 0 sends to node 1, which has one region of `bytes` and looks at it.
template <class Send, class Look>
std::vector<std::string> from_0_to_1(hiway_tests::Way way, std::size_t bytes, Send send, Look look) {
  return in_processes(way, 2, [&](Node& node) {
    OwnMemory& memory = node.port.allocate(bytes);
    node.connect();
    std::byte* const target = node.exchange(memory.address())[1];
    if (node.number() == 0) {
      RemoteCopies copies(node.port, 1);
      send(node, copies, target);
      node.leave_together();
    } else {
      look(node, memory);
      node.leave_together();
    }
  });
}
Word<std::uint64_t>* word_at(std::byte* address) { return reinterpret_cast<Word<std::uint64_t>*>(address); }
std::uint64_t value_at(std::byte* address) { return ThreadMachine{}.load(*word_at(address), MemoryOrder::acquire); }

TEST_P(NodesUcxCopies, OfRowsLeaveWhatIsBetween) {
  auto const send = [](Node&, RemoteCopies& copies, std::byte* target) {
    Copy const rows[] = {{target + 64, pattern().data(), 100, 30, 128}, {target + 8192, pattern().data(), 32, 4, 32}};
    WordCopy const word[] = {{word_at(target), 1}};
    expect(copies.submit(rows, word) == 1, "the first submission is number 1");
  };
  auto const look = [](Node& node, OwnMemory& memory) {
    progress_until(node, "rows", [&] { return value_at(memory.address()) == 1; });
    for (std::size_t i = 0; i != 30 * 128; ++i) {
      std::byte const wanted = i % 128 < 100 ? pattern()[i] : std::byte{0};
      expect(memory.address()[64 + i] == wanted, "byte " + std::to_string(i) + " of the rows");
    }
    expect(std::memcmp(memory.address() + 8192, pattern().data(), 128) == 0, "rows without a gap");
    expect(memory.address()[8192 + 128] == std::byte{0}, "nothing after the rows");
  };
  EXPECT_THAT(from_0_to_1(GetParam(), 16384, send, look), Each(IsEmpty()));
}

TEST_P(NodesUcxCopies, ToMemoryThatNobodyToldOfAreRefused) {
  auto const send = [](Node&, RemoteCopies& copies, std::byte* target) {
    auto const refused = [&](std::byte* to, std::size_t bytes) {
      Copy const copy[] = {{to, pattern().data(), bytes}};
      return hiway_tests::error_of([&] { copies.submit(copy, {}); });
    };
    for (std::string const& error :
         {refused(nullptr, 1), refused(target + 8191, 2), refused(target + 1, ~std::size_t{0})})
      expect(error.starts_with("Error: node 1: it has told of no memory for "), error);
    expect(refused(target + 8191, 1).empty() && refused(target, 8192).empty(), "all of the memory can be put into");
    WordCopy const word[] = {{word_at(target + 4), 1}};
    std::string const error = hiway_tests::error_of([&] { copies.submit({}, word); });
    expect(error == "MisuseError: node 1: a word of a submission of copies is not aligned", error);
  };
  EXPECT_THAT(from_0_to_1(GetParam(), 8192, send, [](Node&, OwnMemory&) {}), Each(IsEmpty()));
}

// The other node stops reading its socket: what is under way stays bounded, and no call waits for it.
TEST(NodesUcxCopies, ToANodeThatStandsStillAreBounded) {
  auto const send = [](Node& node, RemoteCopies& copies, std::byte* target) {
    std::uint64_t submitted = 0;
    std::uint64_t most = 0;
    auto const begin = steady_clock::now();
    auto const submit = [&] {
      Copy const copy[] = {{target + 64, batch(1), most_bytes}};
      WordCopy const word[] = {{word_at(target), submitted + 1}};
      submitted = copies.submit(copy, word);
    };
    while (steady_clock::now() < begin + patience * milliseconds(300)) {
      std::uint64_t const under_way = submitted - copies.completed();
      most = (std::max)(most, under_way);
      if (under_way != RemoteCopies::most_under_way) submit();
    }
    expect(most == RemoteCopies::most_under_way, "the limit is reached");
    std::string const error = hiway_tests::error_of(submit);
    expect(error == "MisuseError: node 1: too many submissions of copies are under way", error);
    expect(steady_clock::now() < begin + patience * seconds(2), "no call waits");
    node.exchange(submitted);
    progress_until(node, "what was under way", [&] { return copies.completed() == submitted; });
  };
  auto const look = [](Node& node, OwnMemory& memory) {
    std::uint64_t const submitted = node.exchange(std::uint64_t{0})[0];
    progress_until(node, "what was under way", [&] { return value_at(memory.address()) == submitted; });
    expect(std::memcmp(memory.address() + 64, batch(1), most_bytes) == 0, "the last one is whole");
  };
  EXPECT_THAT(from_0_to_1(tcp, most_bytes + 64, send, look), Each(IsEmpty()));
}

// Node 1 is killed in the midst. No call of node 0 hangs. By TCP its copies fail and name it; by shared memory UCX
// notices nothing. In both cases the meeting names it.
TEST_P(NodesUcxCopies, ToANodeThatIsKilledDoNotHang) {
  bool const notices = GetParam().name == tcp.name;
  auto const errors = in_processes(GetParam(), 2, [&](Node& node) {
    OwnMemory& memory = node.port.allocate(1 << 20);
    node.connect();
    std::byte* const target = node.exchange(memory.address())[1];
    if (node.number() == 1) {
      progress_until(node, "words", [&] { return value_at(memory.address()) > 1000; });
      kill(getpid(), SIGKILL);
    }
    std::string error;
    steady_clock::duration longest{};
    auto const begin = steady_clock::now();
    auto before = begin;
    {
      RemoteCopies copies(node.port, 1);
      std::uint64_t submitted = 0;
      while (error.empty() && before < begin + seconds(3)) {
        error = hiway_tests::error_of([&] {
          bool const is_full = submitted - copies.completed() == RemoteCopies::most_under_way;
          if (is_full || (notices && submitted == 1100)) return;  // then completed() alone notices it
          Copy const copy[] = {{target + 64, batch(submitted), 5000}};
          WordCopy const word[] = {{word_at(target), submitted + 1}};
          submitted = copies.submit(copy, word);
        });
        longest = (std::max)(longest, steady_clock::now() - before);
        before = steady_clock::now();
      }
    }
    longest = (std::max)(longest, steady_clock::now() - before);  // its end
    expect(longest < seconds(2), "no call hangs");
    if (notices) expect(error.starts_with("Error: node 1: "), "it is named: '" + error + "'");
    expect(error.empty() != notices, "UCX notices by TCP alone: '" + error + "'");
    (void)node.meeting.exchange({});
  });
  EXPECT_THAT(errors, ElementsAre(AllOf(StartsWith("Error: "), HasSubstr("node 1")), "killed"));
}

// Node 0 is killed after it has sent. What it sent comes to node 1 all the same, which does not end by it.
TEST_P(NodesUcxCopies, FromANodeThatIsKilledArrive) {
  constexpr std::uint64_t many = 100;
  auto const errors = in_processes(GetParam(), 2, [&](Node& node) {
    OwnMemory& memory = node.port.allocate(1 << 20);
    node.connect();
    std::byte* const target = node.exchange(memory.address())[1];
    if (node.number() == 0) {
      RemoteCopies copies(node.port, 1);
      for (std::uint64_t n = 1; n <= many; ++n) {
        Copy const copy[] = {{target + 64, batch(n), 100}};
        WordCopy const word[] = {{word_at(target), n}};
        copies.submit(copy, word);
        progress_until(node, "to be sent", [&] { return copies.completed() == n; });
      }
      kill(getpid(), SIGKILL);
    }
    std::string const gone = hiway_tests::error_of([&] { (void)node.meeting.exchange({}); });
    expect(gone.find("node 0") != std::string::npos, "the meeting names it: " + gone);
    progress_until(node, "the last word", [&] { return value_at(memory.address()) == many; });
    expect(std::memcmp(memory.address() + 64, batch(many), 100) == 0, "the last batch is whole");
    for (int i = 0; i != 100; ++i, usleep(100)) node.port.progress();
  });
  EXPECT_THAT(errors, ElementsAre("killed", IsEmpty()));
}

// Such a message comes of a defect alone. It is not copied, and the node that sent it is named.
TEST(NodesUcxPort, AMessageForNoMemoryOfItsOwnIsRefused) {
  auto const errors = in_processes(tcp, 2, [](Node& node) {
    OwnMemory& memory = node.port.allocate(64);
    std::uint64_t guarded = 7;
    node.connect();
    auto const there = node.exchange(std::array{memory.address(), reinterpret_cast<std::byte*>(&guarded)})[1];
    RemoteCopies copies(node.port, 1 - node.number());
    if (node.number() == 0) {
      std::uint64_t const value = 1;
      std::vector<hiway::detail::nodes::MessageHead> heads;
      for (std::byte* const target : {there[0] + 60, there[1]})
        heads.push_back({reinterpret_cast<std::uintptr_t>(target), 0});
      for (auto const& head : heads)
        (void)hiway::detail::nodes::send_message(node.port.peer(1).endpoint(), head, &value, sizeof value, {});
    } else {
      std::string error;
      progress_until(node, "the refusal",
                     [&] { return !(error = hiway_tests::error_of([&] { copies.completed(); })).empty(); });
      expect(error.starts_with("Error: node 0: the connection failed: "), error);
    }
    node.leave_together();
    expect(guarded == 7 && value_at(memory.address() + 56) == 0, "nothing was copied");
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST(NodesUcxPort, IsNotConnectedToANodeThatIsGone) {
  auto const errors = in_processes(tcp, 2, [](Node& node) {
    auto const all = node.meeting.exchange(node.port.introduction());
    if (node.number() == 1) kill(getpid(), SIGKILL);
    (void)hiway_tests::error_of([&] { (void)node.meeting.exchange({}); });
    node.port.connect(all, Node::soon());
  });
  EXPECT_THAT(errors, ElementsAre(StartsWith("Error: node 1: "), "killed"));
}

TEST(NodesUcxPort, IsNotConnectedToANodeThatDoesNotAnswer) {
  auto const errors = in_processes(tcp, 2, [](Node& node) {
    auto const all = node.meeting.exchange(node.port.introduction());
    if (node.number() == 0) node.port.connect(all, steady_clock::now() + milliseconds(200));
    (void)node.meeting.exchange({});
  });
  EXPECT_THAT(errors.front(), StartsWith("Error: node 1: it does not answer by UCX"));
}

}  // namespace
