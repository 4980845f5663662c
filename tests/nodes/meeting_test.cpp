// What nodes that have met say to each other, and what they hear of one that is gone.
#include "lib/nodes/meeting.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <pthread.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#include "tests/nodes/together.hpp"

namespace {

using hiway::detail::nodes::Bytes;
using hiway::detail::nodes::Listener;
using hiway::detail::nodes::Meeting;
using hiway::detail::nodes::Place;
using hiway_tests::error_of;
using hiway_tests::fresh_name;
using hiway_tests::launch_of;
using hiway_tests::loopback;
using hiway_tests::together;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::AnyOf;
using testing::Each;
using testing::IsEmpty;
using testing::StartsWith;
using Errors = std::vector<std::string>;

class NodesMeeting : public testing::TestWithParam<bool> {
 protected:
  static Place place() { return GetParam() ? loopback() : fresh_name(); }
};
INSTANTIATE_TEST_SUITE_P(Over, NodesMeeting, testing::Bool(),
                         [](auto const& over) { return over.param ? "Tcp" : "AName"; });

/// So many bytes that tell whose they are, and of which round.
Bytes bytes_of(int node, int round, std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<std::byte>(static_cast<std::size_t>(node * 31 + round * 7) + i * 13);
  return bytes;
}

void exchange_and_look(Meeting& meeting, int round, std::size_t count) {
  auto const size_of = [&](int node) { return count == 0 ? 0 : count + static_cast<std::size_t>(node); };
  auto const all = meeting.exchange(bytes_of(meeting.node(), round, size_of(meeting.node())));
  ASSERT_EQ(all.size(), static_cast<std::size_t>(meeting.size()));
  for (int node = 0; node < meeting.size(); ++node)
    EXPECT_TRUE(all[static_cast<std::size_t>(node)] == bytes_of(node, round, size_of(node))) << "of node " << node;
}

TEST_P(NodesMeeting, EachGetsWhatAllGive) {
  for (int size = 2; size <= 4; ++size) {
    Listener const listener(place());
    Errors const errors = together(listener, size, [](Meeting& meeting) {
      int round = 0;
      for (std::size_t const count : {0u, 1u, 0u, 1000u, 1u << 20, 3u}) exchange_and_look(meeting, ++round, count);
    });
    EXPECT_THAT(errors, Each(IsEmpty()));
  }
}

TEST_P(NodesMeeting, ManyRoundsKeepTheirOrder) {
  Listener const listener(place());
  Errors const errors = together(listener, 3, [](Meeting& meeting) {
    for (int round = 0; round < 300; ++round) exchange_and_look(meeting, round, static_cast<std::size_t>(round));
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

/// Sends SIGALRM to the threads that are in it, again and again.
class Pest {
 public:
  Pest() {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    sigaction(SIGALRM, &action, &before_);  // without SA_RESTART
  }
  ~Pest() {
    pest_.request_stop();
    pest_.join();
    sigaction(SIGALRM, &before_, nullptr);
  }
  Pest(Pest const&) = delete;
  Pest& operator=(Pest const&) = delete;

  void enter() {
    std::lock_guard const lock(mutex_);
    threads_.insert(pthread_self());
  }
  void leave() {
    std::lock_guard const lock(mutex_);
    threads_.erase(pthread_self());
  }

 private:
  struct sigaction before_ {};
  std::mutex mutex_;
  std::set<pthread_t> threads_;
  std::jthread pest_{[this](std::stop_token const& stop) {
    while (!stop.stop_requested()) {
      {
        std::lock_guard const lock(mutex_);
        for (pthread_t const one : threads_) pthread_kill(one, SIGALRM);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  }};
};

TEST_P(NodesMeeting, ASignalDisturbsNothing) {
  Pest pest;
  Listener const listener(place());
  Errors const errors = together(listener, 3, [&](Meeting& meeting) {
    pest.enter();
    std::string const error = error_of([&] {
      for (int round = 0; round < 3; ++round) {
        if (meeting.node() == round) std::this_thread::sleep_for(milliseconds(10));  // the others wait
        exchange_and_look(meeting, round, 1u << 20);
      }
    });
    pest.leave();
    EXPECT_EQ(error, "");
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST_P(NodesMeeting, TooManyBytesAreRefusedAndTheMeetingGoesOn) {
  Listener const listener(place());
  Errors const errors = together(listener, 2, [](Meeting& meeting) {
    Bytes const many((std::size_t{64} << 20) + 1);
    EXPECT_EQ(error_of([&] { static_cast<void>(meeting.exchange(many)); }),
              "MisuseError: nodes: exchange of 67108865 bytes, at most 67108864 are possible");
    exchange_and_look(meeting, 1, 10);
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST_P(NodesMeeting, TheSameTextPasses) {
  Listener const listener(place());
  Errors const errors = together(listener, 3, [](Meeting& meeting) {
    meeting.require_same("the pipeline", "a\n\nb\n");
    meeting.require_same("the pipeline", meeting.node() == 1 ? "a\nb" : "a\nb\n");
    meeting.require_same("the pipeline", "");
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST_P(NodesMeeting, ATextThatDiffersIsNamedOnAllNodes) {
  Listener const listener(place());
  Errors const errors = together(listener, 4, [](Meeting& meeting) {
    bool const differs = meeting.node() >= 2;
    EXPECT_EQ(error_of([&] { meeting.require_same("the pipeline", differs ? "a\nx\ny" : "a\nb\nc"); }),
              "ConfigError: nodes: the pipeline differs, line 2: 'b' on node 0, 'x' on node 2");
    EXPECT_EQ(error_of([&] { meeting.require_same("the seed", meeting.node() == 0 ? "1" : "1\n2"); }),
              "ConfigError: nodes: the seed differs, line 2: nothing on node 0, '2' on node 1");
    EXPECT_EQ(error_of([&] { meeting.require_same("the seed", meeting.node() == 3 ? "1" : "1\n\n3"); }),
              "ConfigError: nodes: the seed differs, line 2: '' on node 0, nothing on node 3");
    exchange_and_look(meeting, 1, 10);
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST_P(NodesMeeting, DifferentCallsAreRefused) {
  Listener const listener(place());
  Errors const errors = together(listener, 3, [](Meeting& meeting) {
    if (meeting.node() == 1) return meeting.require_same("the pipeline", "a");
    static_cast<void>(meeting.exchange({}));
  });
  EXPECT_THAT(errors, Each("Error: nodes: node 1 calls require_same while node 0 calls exchange"));
}

TEST_P(NodesMeeting, ANodeThatEndsIsNamedByAllOthers) {
  Listener const listener(place());
  Errors const errors = together(listener, 4, [](Meeting& meeting) {
    exchange_and_look(meeting, 1, 10);
    if (meeting.node() == 2) return;
    std::string const expected = "Error: nodes: node 2 is gone: ";
    EXPECT_THAT(error_of([&] { static_cast<void>(meeting.exchange({})); }), StartsWith(expected));
    EXPECT_THAT(error_of([&] { static_cast<void>(meeting.exchange({})); }), StartsWith(expected));
    EXPECT_THAT(error_of([&] { meeting.require_same("the pipeline", ""); }), StartsWith(expected));
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST_P(NodesMeeting, Node0IsNamedIfItEnds) {
  Listener const listener(place());
  Errors const errors = together(listener, 3, [](Meeting& meeting) {
    exchange_and_look(meeting, 1, 10);
    if (meeting.node() == 0) return;
    Bytes const much(std::size_t{4} << 20);  // more than a socket's buffer: node 0 closes while it is being sent
    EXPECT_THAT(error_of([&] { static_cast<void>(meeting.exchange(much)); }),
                StartsWith("Error: nodes: node 0 is gone: "));
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST_P(NodesMeeting, ANodeThatEndsIsNamedWhereOthersWaitForNothingElse) {
  Listener const listener(place());
  Errors const errors = together(listener, 4, [](Meeting& meeting) {
    exchange_and_look(meeting, 1, 10);
    auto const all_here = [&](milliseconds most) {
      return error_of([&] { meeting.require_all_here(steady_clock::now() + most); });
    };
    EXPECT_THAT(all_here(milliseconds(50)), IsEmpty());
    exchange_and_look(meeting, 2, 10);  // another one that calls already is here, too
    if (meeting.node() == 2) return;
    EXPECT_THAT(all_here(std::chrono::seconds(20)), StartsWith("Error: nodes: node 2 is gone: "));
    EXPECT_THAT(all_here({}), StartsWith("Error: nodes: node 2 is gone: "));
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST_P(NodesMeeting, ANodeThatIsKilledIsNamedAtOnce) {
  Listener const listener(place());
  pid_t const child = fork();
  if (child == 0) {
    Meeting meeting(launch_of(listener, 3, 4));
    exchange_and_look(meeting, 1, 1000);
    usleep(100'000);  // the others wait for it
    raise(SIGKILL);
  }
  std::vector<steady_clock::time_point> heard(3);
  Errors const errors = together(listener, 4,
                                 [&](Meeting& meeting) {
                                   exchange_and_look(meeting, 1, 1000);
                                   auto const why = error_of([&] { exchange_and_look(meeting, 2, 1u << 20); });
                                   heard[static_cast<std::size_t>(meeting.node())] = steady_clock::now();
                                   EXPECT_THAT(why, StartsWith("Error: nodes: node 3 is gone: "))
                                       << "on node " << meeting.node();
                                 },
                                 {3});
  EXPECT_THAT(errors, Each(IsEmpty()));
  auto const [first, last] = std::minmax_element(heard.begin(), heard.end());
  EXPECT_LT(*last - *first, milliseconds(500));
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
}

std::set<int> descriptors() {
  std::set<int> numbers;
  DIR* const folder = opendir("/proc/self/fd");
  while (dirent const* const entry = readdir(folder)) {
    if (entry->d_name[0] != '.') numbers.insert(std::atoi(entry->d_name));
  }
  numbers.erase(dirfd(folder));
  closedir(folder);
  return numbers;
}

TEST_P(NodesMeeting, DescriptorsAreClosedAndNotInherited) {
  auto const before = descriptors();
  {
    Listener const listener(place());
    Errors const errors = together(listener, 2, [&](Meeting& meeting) {
      exchange_and_look(meeting, 1, 10);
      for (int const number : descriptors()) {
        bool const is_inherited = (fcntl(number, F_GETFD) & FD_CLOEXEC) == 0;
        EXPECT_TRUE(before.contains(number) || !is_inherited) << number;
      }
      exchange_and_look(meeting, 2, 10);
    });
    EXPECT_THAT(errors, Each(IsEmpty()));
  }
  EXPECT_EQ(descriptors(), before);
}

}  // namespace
