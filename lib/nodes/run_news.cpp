#include "lib/nodes/run_news.hpp"

#include <algorithm>
#include <utility>

#include "lib/nodes/run_message.hpp"

namespace hiway::detail::nodes {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::microseconds between_looks{200};

std::string seconds_of(milliseconds time) {
  bool const whole = time.count() % 1000 == 0;
  return whole ? std::to_string(time.count() / 1000) + " s" : std::to_string(time.count()) + " ms";
}

std::string silent(std::size_t node, milliseconds patience) {
  return "nodes: node " + std::to_string(node) + " has said nothing for " + seconds_of(patience) +
         " (stopped, or cut off)";
}

}  // namespace

RunNews::RunNews(Meeting& meeting, milliseconds patience)
    : meeting_(meeting), patience_(patience), silence_(static_cast<std::size_t>(meeting.size()), patience) {
  run_.is_over = run_.is_settled = true;  // no run is under way
}

void RunNews::begin() {
  meeting_.require_whole();
  number_ = meeting_.count_run();
  run_ = {};
  run_.over.resize(static_cast<std::size_t>(meeting_.size()));
  silence_.begin();
  next_look_ = {};
}

bool RunNews::step(Time now) {
  if (now < next_look_) return false;
  next_look_ = now + between_looks;
  silence_.listens(now);
  if (!has_verdict() && now >= run_.next_beat) {
    run_.next_beat = now + patience_ / 5;
    tell(Kind::run_beat, meeting_.node());
  }
  Channels const& channels = meeting_.channels();
  step_all(channels, now);
  bool heard = false;
  for (std::size_t node = 0; node < channels.size(); ++node) {
    if (channels[node] != nullptr) heard |= listen_to(node, now);
  }
  if (!has_verdict()) look_for_lost(now);
  if (!run_.is_settled && has_verdict()) settle(now);
  return heard;
}

void RunNews::say_over() {
  next_look_ = {};  // it is to go at once
  if (meeting_.node() == 0) return hear_over(0);
  if (!has_verdict()) tell(Kind::run_over, meeting_.node());
}

void RunNews::say_failed(std::string_view why) {
  if (has_verdict() || run_.own_failure) return;
  next_look_ = {};
  why = why.substr(0, most_bytes - number_bytes);
  if (meeting_.node() == 0) return decide({0, std::string(why), false});
  run_.own_failure = why;
  tell(Kind::run_failed, meeting_.node(), why);
}

void RunNews::say(std::string_view text) {
  tell(Kind::run_said, meeting_.node(), text.substr(0, most_bytes - number_bytes));
}

void RunNews::ask() {
  if (!has_verdict()) tell(Kind::run_asked, meeting_.node());  // N2
}

/// To node 0, or from there to all; the next look sends it. A beat is not queued where something is.
void RunNews::tell(Kind kind, int node, std::string_view why) {
  auto const bytes = bytes_of_run(number_, why);
  for (auto const& channel : meeting_.channels()) {
    bool const is_of_use = channel != nullptr && (kind != Kind::run_beat || !channel->has_to_send());
    if (is_of_use) channel->send({kind, static_cast<std::uint32_t>(node), bytes});
  }
}

bool RunNews::listen_to(std::size_t node, Time now) {
  Channel& channel = *meeting_.channels()[node];
  bool heard = false;
  for (Message const* next = channel.next(); next != nullptr; next = channel.next()) {
    std::int32_t const after = runs_after(number_, *next);
    bool const is_part = after == 0 && is_of_part(next->kind);
    if (!is_of_run(next->kind) || after > 0 || is_part) break;  // N3
    Message const message = *channel.take();
    if (after < 0) continue;  // N2
    hear(node, message);
    silence_.hears(node, now);
    heard = true;
  }
  return heard;
}

void RunNews::hear(std::size_t from, Message const& message) {
  if (message.kind == Kind::run_said)
    return run_.said.push_back({static_cast<int>(from), std::string(text_of_run(message))});
  if (message.kind == Kind::run_asked) {
    run_.asked = true;
    return;
  }
  if (has_verdict() || message.kind == Kind::run_beat) return;  // N1: what comes after the verdict was too late
  bool const is_node_0 = meeting_.node() == 0;
  if (message.kind == Kind::run_over) {
    if (is_node_0) return hear_over(from);
    run_.is_over = true;
    return;
  }
  int const whose = static_cast<int>(is_node_0 ? from : message.node);
  decide({whose, std::string(text_of_run(message)), message.kind == Kind::run_gone});
}

/// At node 0.
void RunNews::hear_over(std::size_t node) {
  if (has_verdict()) return;
  run_.over[node] = true;
  run_.is_over = std::ranges::all_of(run_.over, [](bool over) { return over; });
  if (run_.is_over) tell(Kind::run_over, 0);
}

void RunNews::look_for_lost(Time now) {
  Channels const& channels = meeting_.channels();
  auto const is_broken = [](auto const& channel) { return channel != nullptr && !channel->broken().empty(); };
  auto const broken = std::ranges::find_if(channels, is_broken);
  auto lost = silence_.silent(now);
  if (broken != channels.end()) lost = static_cast<std::size_t>(broken - channels.begin());
  if (!lost) return;
  Failure failure{static_cast<int>(*lost), {}, true};
  failure.why = broken != channels.end() ? gone(*lost, **broken) : silent(*lost, patience_);
  if (meeting_.node() == 0) return decide(std::move(failure));
  channels[*lost]->finish();  // if node 0 has only been stopped, it sees that this one has left
  meeting_.give_up(failure.why);
  if (run_.own_failure) failure = {meeting_.node(), *run_.own_failure, false};
  decide(std::move(failure));
}

/// The verdict, which node 0 tells all.
void RunNews::decide(Failure failure) {
  if (failure.gone) meeting_.give_up(failure.why);
  run_.failure = std::move(failure);
  Failure const& verdict = *run_.failure;
  if (meeting_.node() == 0) tell(verdict.gone ? Kind::run_gone : Kind::run_failed, verdict.node, verdict.why);
}

/// The patience is for a node that has stopped to read: it must not hold up this one.
void RunNews::settle(Time now) {
  if (run_.settled_by == Time::max()) run_.settled_by = now + patience_;
  send_all(meeting_.channels(), now);
  auto const has_to_send = [](auto const& channel) { return channel != nullptr && channel->has_to_send(); };
  run_.is_settled = now >= run_.settled_by || std::ranges::none_of(meeting_.channels(), has_to_send);
}

}  // namespace hiway::detail::nodes
