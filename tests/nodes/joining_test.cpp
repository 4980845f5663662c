// How nodes meet: what is refused, what is waited for, and what does not disturb them.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>
#include <future>

#include "lib/nodes/hello.hpp"
#include "tests/nodes/together.hpp"

namespace {

using namespace hiway::detail::nodes;
using hiway_tests::error_of;
using hiway_tests::fresh_name;
using hiway_tests::launch_of;
using hiway_tests::loopback;
using hiway_tests::together;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::AllOf;
using testing::AnyOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Errors = std::vector<std::string>;

Deadline soon() { return steady_clock::now() + std::chrono::seconds(10); }

void say(int socket, std::string_view text) {
  static_cast<void>(send_some(socket, std::as_bytes(std::span(text))));  // the other end may have closed
}

/// What comes, up to `count` bytes or the end.
std::string hear(int socket, std::size_t count) {
  std::string heard;
  while (heard.size() < count) {
    pollfd ready{socket, POLLIN, 0};
    wait_for({&ready, 1}, soon());
    std::byte part[64];
    auto const got = receive_some(socket, std::span(part).first(std::min(sizeof part, count - heard.size())));
    if (got <= 0) break;
    heard.append(reinterpret_cast<char const*>(part), static_cast<std::size_t>(got));
  }
  return heard;
}

/// A connection that says so, and what it is answered.
Hello answer_to(Place const& place, Hello const& hello, Descriptor* keep = nullptr) {
  auto [socket, refusal] = connect_to(place, soon());
  EXPECT_EQ(refusal, "");
  HelloBytes bytes = bytes_of(hello);
  EXPECT_EQ(send_some(socket.number(), bytes), static_cast<std::ptrdiff_t>(bytes.size()));
  std::string const heard = hear(socket.number(), bytes.size());
  EXPECT_EQ(heard.size(), bytes.size());
  std::ranges::transform(heard, bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
  if (keep != nullptr) *keep = std::move(socket);
  return hello_of(bytes).value_or(Hello{});
}

/// Node 0 of three in a thread: what it throws.
std::future<std::string> node_0_of_three(Listener const& listener) {
  return std::async(std::launch::async,
                    [&] { return error_of([&] { Meeting meeting(launch_of(listener, 0, 3), listener); }); });
}

/// A place where nobody listens, which stays free for the test.
class FreePlace {
 public:
  explicit FreePlace(Place const& place) : place_(place) {
    if (place.is_local()) return;
    socket_ = Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    int const yes = 1;  // a listener may take the port, too
    setsockopt(socket_.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in at{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    socklen_t length = sizeof at;
    EXPECT_EQ(bind(socket_.number(), reinterpret_cast<sockaddr*>(&at), length), 0);
    EXPECT_EQ(getsockname(socket_.number(), reinterpret_cast<sockaddr*>(&at), &length), 0);
    place_.port = ntohs(at.sin_port);
  }
  [[nodiscard]] Place const& place() const { return place_; }

 private:
  Place place_;
  Descriptor socket_;
};

class NodesJoining : public testing::TestWithParam<bool> {
 protected:
  static Place place() { return GetParam() ? loopback() : fresh_name(); }
};
INSTANTIATE_TEST_SUITE_P(Over, NodesJoining, testing::Bool(),
                         [](auto const& over) { return over.param ? "Tcp" : "AName"; });

TEST_P(NodesJoining, ANumberThatIsThereTwiceIsRefusedOnBothSides) {
  Listener const listener(place());
  auto node_0 = node_0_of_three(listener);
  Descriptor first;
  EXPECT_EQ(answer_to(listener.place(), {.node = 1, .size = 3}, &first).verdict, Verdict::welcome);
  std::string const refused = error_of([&] { Meeting second(launch_of(listener, 1, 3)); });
  std::string const expected = "ConfigError: nodes: " + listener.place().text() + " refuses: there are two nodes 1";
  EXPECT_EQ(refused, expected);
  EXPECT_EQ(node_0.get(), expected);
  EXPECT_THAT(hear(first.number(), 200), HasSubstr("there are two nodes 1")) << "the other is told";
}

TEST_P(NodesJoining, AnotherNumberOfNodesIsRefusedOnBothSides) {
  Listener const listener(place());
  auto node_0 = node_0_of_three(listener);
  std::string const refused = error_of([&] { Meeting meeting(launch_of(listener, 2, 4)); });
  EXPECT_EQ(refused,
            "ConfigError: nodes: " + listener.place().text() + " refuses: node 2 counts 4 nodes, node 0 counts 3");
  EXPECT_EQ(node_0.get(), refused);
}

TEST_P(NodesJoining, ANumberThatIsNoNodesIsRefused) {
  Listener const listener(place());
  auto node_0 = node_0_of_three(listener);
  EXPECT_EQ(answer_to(listener.place(), {.node = 3, .size = 3}).verdict, Verdict::no_such_node);
  EXPECT_THAT(node_0.get(), HasSubstr("refuses: node 3 is none of 3 nodes"));
}

TEST_P(NodesJoining, AnotherProtocolIsRefused) {
  Listener const listener(place());
  auto node_0 = node_0_of_three(listener);
  Hello const answer = answer_to(listener.place(), {.protocol = 7, .node = 1, .size = 3});
  EXPECT_EQ(answer.verdict, Verdict::other_protocol);
  EXPECT_EQ(answer.protocol, protocol_version);
  EXPECT_THAT(node_0.get(),
              HasSubstr("refuses: node 1 speaks version 7 of the protocol, node 0 speaks version 1: the same hiway is "
                        "needed on all nodes"));
}

/// Listens, answers the first Hello with `text`, and waits until the other side has given up.
std::string joins_something_that_says(std::string_view text) {
  Listener const listener(loopback());
  auto other = std::async(std::launch::async, [&] {
    pollfd ready{listener.descriptor(), POLLIN, 0};
    wait_for({&ready, 1}, soon());
    Descriptor const socket = listener.accept();
    hear(socket.number(), HelloBytes{}.size());
    say(socket.number(), text);
    hear(socket.number(), 1);
  });
  Launch launch = launch_of(listener, 1, 2);
  launch.patience = milliseconds(300);
  std::string said = error_of([&] { Meeting meeting(launch); });
  return said.replace(said.find(listener.place().text()), listener.place().text().size(), "HERE");
}

TEST(NodesJoining, WhatSpeaksAnotherProtocolIsNamed) {
  HelloBytes const bytes = bytes_of({.protocol = 2, .size = 2, .verdict = Verdict::other_protocol});
  EXPECT_EQ(
      joins_something_that_says({reinterpret_cast<char const*>(bytes.data()), bytes.size()}),
      "ConfigError: nodes: HERE refuses: node 1 speaks version 1 of the protocol, node 0 speaks version 2: the same "
      "hiway is needed on all nodes");
}

TEST(NodesJoining, WhatIsNotHiwayIsNamed) {
  EXPECT_EQ(joins_something_that_says("HTTP/1.1 400 Bad Request\r\n\r\n"),
            "ConfigError: nodes: what listens at HERE is no node 0 of hiway");
}

TEST(NodesJoining, WhatSaysNothingIsGivenUp) {
  EXPECT_EQ(
      joins_something_that_says(""),
      "Error: nodes: node 1 does not reach node 0 at HERE within 1 s (HIWAY_MEET_SECONDS): it accepts connections "
      "and does not answer");
}

TEST_P(NodesJoining, StrayConnectionsDisturbNothing) {
  Listener const listener(place());
  std::vector<Descriptor> strays;
  auto const stray = [&](std::string_view says) {
    strays.push_back(connect_to(listener.place(), soon()).socket);
    ASSERT_TRUE(strays.back());
    say(strays.back().number(), says);
  };
  stray("");
  stray("GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n");
  stray("hiwaymt\n and n");  // a Hello that stops
  stray("hiwaymt");
  stray(std::string(100'000, '\0'));
  stray("x");
  strays.pop_back();  // says something, and closes
  auto const before = steady_clock::now();
  Errors const errors = together(listener, 3, [&](Meeting& meeting) {
    static_cast<void>(meeting.exchange({}));
    if (meeting.node() == 0) say(strays.front().number(), "late");
    static_cast<void>(meeting.exchange({}));
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
  EXPECT_LT(steady_clock::now() - before, std::chrono::seconds(5));
  EXPECT_EQ(hear(strays.front().number(), 1), "") << "closed when the nodes have met";
}

TEST_P(NodesJoining, SilentConnectionsNeverTakeAllTheRoom) {
  Listener const listener(place());
  std::vector<Descriptor> strays;
  for (int i = 0; i < 300; ++i) strays.push_back(connect_to(listener.place(), soon()).socket);
  EXPECT_THAT(together(listener, 2, [&](Meeting& meeting) { static_cast<void>(meeting.exchange({})); }),
              Each(IsEmpty()));
}

TEST_P(NodesJoining, ANodeThatGoesBeforeAllAreHereEndsTheMeeting) {
  Listener const listener(place());
  auto node_0 = node_0_of_three(listener);
  Descriptor first;
  EXPECT_EQ(answer_to(listener.place(), {.node = 1, .size = 3}, &first).verdict, Verdict::welcome);
  first = {};
  EXPECT_THAT(node_0.get(), StartsWith("Error: nodes: node 1 is gone: "));
}

TEST_P(NodesJoining, BytesThatAreNoMessageEndTheMeeting) {
  Listener const listener(place());
  auto node_0 = node_0_of_three(listener);
  Descriptor first;
  EXPECT_EQ(answer_to(listener.place(), {.node = 2, .size = 3}, &first).verdict, Verdict::welcome);
  say(first.number(), std::string_view("\2\0\0\0\2\0\0\0\0\0\0\x7f", 12));  // 2 GiB are announced
  EXPECT_EQ(node_0.get(), "Error: nodes: node 2 is gone: it sent what is no message");
}

TEST_P(NodesJoining, NodesThatDoNotComeAreNamed) {
  Listener const listener(place());
  Launch launch = launch_of(listener, 0, 4);
  launch.patience = milliseconds(200);
  Descriptor other;
  std::thread comes([&] { answer_to(listener.place(), {.node = 2, .size = 4}, &other); });
  EXPECT_EQ(error_of([&] { Meeting meeting(launch, listener); }),
            "Error: nodes: nodes 1, 3 did not come to " + listener.place().text() + " within 1 s (HIWAY_MEET_SECONDS)");
  comes.join();
  EXPECT_THAT(hear(other.number(), 300), HasSubstr("nodes 1, 3 did not come")) << "the other is told";
}

TEST_P(NodesJoining, ANodeComesBeforeNode0Listens) {
  FreePlace const free(place());
  Place const& there = free.place();
  auto node_1 = std::async(std::launch::async, [&] {
    return error_of([&] {
      Meeting meeting({.node = 1, .size = 2, .place = there, .patience = std::chrono::seconds(20)});
      static_cast<void>(meeting.exchange({}));
    });
  });
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(error_of([&] {
              Meeting meeting({.node = 0, .size = 2, .place = there, .patience = std::chrono::seconds(20)});
              static_cast<void>(meeting.exchange({}));
            }),
            "");
  EXPECT_EQ(node_1.get(), "");
}

TEST_P(NodesJoining, NobodyListens) {
  FreePlace const free(place());
  Place const& there = free.place();
  EXPECT_EQ(error_of([&] { Meeting meeting({.node = 1, .size = 2, .place = there, .patience = milliseconds(100)}); }),
            "Error: nodes: node 1 does not reach node 0 at " + there.text() +
                " within 1 s (HIWAY_MEET_SECONDS): Connection refused");
}

TEST_P(NodesJoining, APlaceThatIsInUseIsNamed) {
  Listener const first(place());
  EXPECT_EQ(
      error_of([&] { Listener second(first.place()); }),
      "Error: nodes: cannot listen at " + first.place().text() + ": it is in use; HIWAY_MEET may name another place");
}

TEST(NodesJoining, AHostThatIsNoneIsNamed) {
  Launch const launch{.node = 1, .size = 2, .place = {"no..host", 1, {}}, .patience = milliseconds(100)};
  EXPECT_THAT(error_of([&] { Meeting meeting(launch); }),
              StartsWith("Error: nodes: there is no host 'no..host' (no..host:1): "));
  EXPECT_THAT(error_of([&] { Listener listener(launch.place); }),
              StartsWith("Error: nodes: there is no host 'no..host'"));
}

TEST(NodesJoining, ANodeMayListenAtAllAddresses) {
  Listener const listener({"0.0.0.0", 0, {}});
  EXPECT_THAT(together(listener, 2, [](Meeting& meeting) { static_cast<void>(meeting.exchange({})); }),
              Each(IsEmpty()));
}

}  // namespace
