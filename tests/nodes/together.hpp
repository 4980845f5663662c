// Several nodes in one process: a thread for each.
#pragma once
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "hiway/error.hpp"
#include "lib/nodes/meeting.hpp"

namespace hiway_tests {

/// A name on this host that no other test has.
inline hiway::detail::nodes::Place fresh_name() {
  static std::atomic<int> count{0};
  return hiway::detail::nodes::local_place("hiway-test-" + std::to_string(getpid()) + "-" + std::to_string(++count));
}
/// A free port of this host.
inline hiway::detail::nodes::Place loopback() { return {"127.0.0.1", 0, {}}; }

inline hiway::detail::nodes::Launch launch_of(hiway::detail::nodes::Listener const& listener, int node, int size) {
  return {.node = node, .size = size, .place = listener.place(), .patience = std::chrono::seconds(20)};
}

/// What `body` throws, with its kind; empty if nothing.
template <class Body>
std::string error_of(Body body) {
  try {
    body();
    return {};
  } catch (hiway::ConfigError const& error) {
    return std::string("ConfigError: ") + error.what();
  } catch (hiway::MisuseError const& error) {
    return std::string("MisuseError: ") + error.what();
  } catch (hiway::Error const& error) {
    return std::string("Error: ") + error.what();
  } catch (std::exception const& error) {
    return std::string("other: ") + error.what();
  }
}

/// The node meets the others and runs body(meeting). What that throws.
template <class Body>
std::string error_of_node(hiway::detail::nodes::Listener const& listener, int node, int size, Body& body) {
  return error_of([&] {
    auto const launch = launch_of(listener, node, size);
    if (node == 0) {
      hiway::detail::nodes::Meeting meeting(launch, listener);
      body(meeting);
    } else {
      hiway::detail::nodes::Meeting meeting(launch);
      body(meeting);
    }
  });
}

/// Each node meets the others and then runs body(meeting). What each throws. Nodes of `elsewhere` are not made.
template <class Body>
std::vector<std::string> together(hiway::detail::nodes::Listener const& listener, int size, Body body,
                                  std::vector<int> const& elsewhere = {}) {
  std::vector<std::string> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int node = 0; node < size; ++node) {
    if (std::find(elsewhere.begin(), elsewhere.end(), node) != elsewhere.end()) continue;
    threads.emplace_back(
        [&, node] { errors[static_cast<std::size_t>(node)] = error_of_node(listener, node, size, body); });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

}  // namespace hiway_tests
