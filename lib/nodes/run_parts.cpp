#include "lib/nodes/run_parts.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "lib/nodes/run_message.hpp"

namespace hiway::detail::nodes {
namespace {

using std::chrono::steady_clock;

constexpr int questions = 8;
constexpr std::size_t piece_bytes = std::size_t{1} << 20;
constexpr char goes_on = '+';  // the first byte of a piece
constexpr char is_last = '.';

/// What node 0 answers. All nodes are machines of one kind.
std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

/// The next message of this run; what is older is dropped. Null: there is none, or the other end has gone on.
std::optional<Message> take_of_run(Channel& channel, std::uint32_t run) {
  for (Message const* next = channel.next(); next != nullptr; next = channel.next()) {
    if (!is_of_run(next->kind) || runs_after(run, *next) > 0) return std::nullopt;
    auto message = channel.take();
    if (runs_after(run, *message) == 0) return message;
  }
  return std::nullopt;
}

// ---- node 0

class Gatherer {
 public:
  Gatherer(RunOfNodes const& run, std::int64_t origin_ns, int lost)
      : run_(run), origin_ns_(origin_ns), parts_(run.meeting.channels().size()), until_(parts_.size()) {
    std::ranges::fill(until_, steady_clock::now() + run_.patience);
    done(0);
    if (lost > 0) miss(static_cast<std::size_t>(lost), "it is gone");
  }

  std::vector<Part> gather() && {
    for (;;) {
      for (std::size_t node = 1; node < parts_.size(); ++node) {
        if (!is_done(node)) listen_to(node);
      }
      Deadline const next = std::ranges::min(until_);
      if (next == Deadline::max()) return std::move(parts_);
      step_all(run_.meeting.channels(), next);
    }
  }

 private:
  void done(std::size_t node) { until_[node] = Deadline::max(); }
  [[nodiscard]] bool is_done(std::size_t node) const { return until_[node] == Deadline::max(); }
  void miss(std::size_t node, char const* why) {
    parts_[node] = {{}, why};
    done(node);
  }

  void listen_to(std::size_t node) {
    Channel& channel = *run_.meeting.channels()[node];
    while (auto const message = take_of_run(channel, run_.number)) {
      until_[node] = steady_clock::now() + run_.patience;
      bool const is_whole = message->kind == Kind::run_piece && add(node, text_of_run(*message));
      if (message->kind == Kind::run_clock || is_whole) answer(channel);
      if (is_whole) return done(node);
    }
    if (channel.next() != nullptr) return miss(node, "it has gone on without giving it");
    if (!channel.broken().empty()) return miss(node, "it is gone");
    if (steady_clock::now() >= until_[node]) miss(node, "it has not given it in time");
  }

  void answer(Channel& channel) const {
    ClockAnswer const said{now_ns(), origin_ns_};
    std::string text(sizeof said, '\0');
    std::memcpy(text.data(), &said, sizeof said);
    channel.send({Kind::run_clock, 0, bytes_of_run(run_.number, text)});
    channel.step();
  }

  /// True: it was the last piece.
  bool add(std::size_t node, std::string_view piece) {
    if (piece.empty()) return false;
    parts_[node].text.append(piece.substr(1));
    return piece.front() == is_last;
  }

  RunOfNodes const& run_;
  std::int64_t origin_ns_;
  std::vector<Part> parts_;
  std::vector<Deadline> until_;  // max: nothing more is waited for
};

// ---- the others

void send(RunOfNodes const& run, Kind kind, std::string_view text) {
  auto const node = static_cast<std::uint32_t>(run.meeting.node());
  run.meeting.channels().front()->send({kind, node, bytes_of_run(run.number, text)});
}

/// None: node 0 does not answer.
std::optional<ClockAnswer> hear_clock(RunOfNodes const& run) {
  Channel& node_0 = *run.meeting.channels().front();
  Deadline const until = steady_clock::now() + run.patience;
  for (;; step_all(run.meeting.channels(), until)) {
    while (auto const message = take_of_run(node_0, run.number)) {
      if (message->kind != Kind::run_clock || text_of_run(*message).size() != sizeof(ClockAnswer)) continue;
      ClockAnswer said;
      std::memcpy(&said, text_of_run(*message).data(), sizeof said);
      return said;
    }
    bool const has_left = node_0.next() != nullptr || !node_0.broken().empty();
    if (has_left || steady_clock::now() >= until) return std::nullopt;
  }
}

std::optional<Origin> origin_of_node_0(RunOfNodes const& run) {
  Origin best{0, std::numeric_limits<std::int64_t>::max()};
  for (int i = 0; i < questions; ++i) {
    std::int64_t const asked = now_ns();
    send(run, Kind::run_clock, {});
    std::optional<ClockAnswer> const said = hear_clock(run);
    std::int64_t const heard = now_ns();
    if (!said) return std::nullopt;
    if (Origin const origin = origin_of(*said, asked, heard); origin.error_ns < best.error_ns) best = origin;
  }
  return best;
}

}  // namespace

std::vector<Part> gather_parts(RunOfNodes const& run, std::int64_t origin_ns, int lost) {
  return Gatherer(run, origin_ns, lost).gather();
}

bool give_part(RunOfNodes const& run, std::function<std::string(Origin)> const& make) {
  std::optional<Origin> const origin = origin_of_node_0(run);
  if (!origin) return false;
  std::string const text = make(*origin);
  std::string_view left = text;
  for (bool last = false; !last;) {
    std::string const piece(left.substr(0, piece_bytes));
    left.remove_prefix(piece.size());
    last = left.empty();
    send(run, Kind::run_piece, (last ? is_last : goes_on) + piece);
    send_all(run.meeting.channels(), steady_clock::now() + run.patience);
    if (run.meeting.channels().front()->has_to_send()) return false;
  }
  return hear_clock(run).has_value();
}

}  // namespace hiway::detail::nodes
