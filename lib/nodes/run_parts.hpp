// RunParts: once a run has its verdict on all nodes (run_news.hpp), node 0 gathers a text from each of the others, and
// they learn what its clock says.
//
//   node k                                 node 0
//   clock, eight times                ->
//                                     <-   clock: its time, and its origin
//   piece, piece, ..., the last one   ->
//                                     <-   clock: it has them all
//
//   G1  Each message has its run's number, so what comes too late is dropped, as news is (N2).
//   G2  No node waits longer than the patience for a message. Node 0 goes on without the part of a node that is gone,
//       that says nothing, or that has gone on to a call or another run.
//
// A clock is asked eight times, and the shortest answer counts: node 0's time is taken for that of the middle between
// question and answer, so the error is half of the way there and back at most.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/nodes/meeting.hpp"

namespace hiway::detail::nodes {

/// Of a run that has its verdict.
struct RunOfNodes {
  Meeting& meeting;
  std::uint32_t number = 0;
  std::chrono::milliseconds patience{};
};

struct Part {
  std::string text;
  std::string missing;  ///< why there is no text
};

/// Node 0's origin, by this node's clock.
struct Origin {
  std::int64_t ns = 0;
  std::int64_t error_ns = 0;  ///< at most so much earlier or later
};

/// Node 0's clock, and its origin by that clock.
struct ClockAnswer {
  std::int64_t now_ns = 0;
  std::int64_t origin_ns = 0;
};
/// What an answer tells that came at `heard_ns` to a question of `asked_ns`, both by this node's clock.
[[nodiscard]] constexpr Origin origin_of(ClockAnswer const& said, std::int64_t asked_ns, std::int64_t heard_ns) {
  std::int64_t const half = (heard_ns - asked_ns + 1) / 2;
  return {said.origin_ns + asked_ns + half - said.now_ns, half};
}

/// At node 0: by number; its own is empty. `lost`: a node that is not waited for, or -1. *Throws* Error if the system
/// cannot do it.
[[nodiscard]] std::vector<Part> gather_parts(RunOfNodes const& run, std::int64_t origin_ns, int lost);
/// At another node: gives what `make` returns. False: node 0 has not taken it. *Throws* likewise.
[[nodiscard]] bool give_part(RunOfNodes const& run, std::function<std::string(Origin)> const& make);

}  // namespace hiway::detail::nodes
