#include "lib/nodes/meeting.hpp"

#include <optional>
#include <utility>

#include "hiway/error.hpp"

namespace hiway::detail::nodes {
namespace {

constexpr Deadline never = Deadline::max();

std::string call_of(Kind kind) { return kind == Kind::text ? "require_same" : "exchange"; }

/// The next message that is a call's. What is left of a run's is dropped.
std::optional<Message> take_of_call(Channel& channel) {
  auto message = channel.take();
  while (message && is_of_run(message->kind)) message = channel.take();
  return message;
}

/// The next line, which it takes off `text`.
std::string_view line_of(std::string_view& text) {
  std::size_t const end = text.find('\n');
  std::string_view const line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::string quoted(std::string_view line, bool is_there) {
  constexpr std::size_t most = 200;
  if (!is_there) return "nothing";
  return std::string("'").append(line.substr(0, most)).append(line.size() > most ? "...'" : "'");
}

/// Where the first line differs from the first text's; empty if none does.
std::string difference(std::string_view what, std::string_view first, std::string_view other, std::size_t node) {
  for (std::size_t number = 1; !first.empty() || !other.empty(); ++number) {
    bool const first_goes_on = !first.empty(), other_goes_on = !other.empty();
    std::string_view const at_first = line_of(first), at_other = line_of(other);
    if (at_first == at_other && first_goes_on == other_goes_on) continue;
    return "nodes: " + std::string(what) + " differs, line " + std::to_string(number) + ": " +
           quoted(at_first, first_goes_on) + " on node 0, " + quoted(at_other, other_goes_on) + " on node " +
           std::to_string(node);
  }
  return {};
}

}  // namespace

Meeting::Meeting(Launch const& launch) : launch_(launch) {
  if (launch.size == 1) return;
  channels_ = launch.node == 0 ? gather(launch, Listener(launch.place)) : join(launch);
}

Meeting::Meeting(Launch const& launch, Listener const& listener)
    : launch_(launch), channels_(gather(launch, listener)) {}

std::vector<Bytes> Meeting::exchange(std::span<std::byte const> mine) { return round(Kind::bytes, mine); }

void Meeting::require_same(std::string_view what, std::string_view text) {
  std::vector<Bytes> const texts = round(Kind::text, std::as_bytes(std::span(text)));
  for (std::size_t node = 1; node < texts.size(); ++node) {
    std::string const differs = difference(what, text_of(texts.front()), text_of(texts[node]), node);
    if (!differs.empty()) throw ConfigError(differs);
  }
}

void Meeting::require_whole() const {
  if (!failed_.empty()) throw Error(failed_);
}

void Meeting::require_all_here(Deadline until) {
  require_whole();
  for (bool is_over = false;; is_over = std::chrono::steady_clock::now() >= until) {
    for (std::size_t k = 0; k < channels_.size(); ++k) {
      if (channels_[k] == nullptr) continue;
      Message const* const next = channels_[k]->next();
      if (next != nullptr && next->kind == Kind::failed) fail_as_told(*channels_[k], *next);
      if (!channels_[k]->broken().empty()) fail(gone(k, *channels_[k]));
    }
    if (is_over) return;
    step_all(channels_, until);
  }
}

std::vector<Bytes> Meeting::round(Kind kind, std::span<std::byte const> mine) {
  require_whole();
  if (mine.size() > most_bytes)
    throw MisuseError("nodes: " + call_of(kind) + " of " + std::to_string(mine.size()) + " bytes, at most " +
                      std::to_string(most_bytes) + " are possible");
  Shared given(static_cast<std::size_t>(launch_.size));
  given[static_cast<std::size_t>(launch_.node)] = std::make_shared<Bytes>(mine.begin(), mine.end());
  if (launch_.node == 0) {
    gather_all(kind, given);
    hand_out(kind, given);
  } else {
    ask_node_0(kind, given);
  }
  std::vector<Bytes> all;
  for (auto const& one : given) all.push_back(std::move(*one));
  return all;
}

void Meeting::gather_all(Kind kind, Shared& given) {
  for (;;) {
    bool all_there = true;
    for (std::size_t k = 1; k < channels_.size(); ++k) {
      Channel& channel = *channels_[k];
      auto message = given[k] == nullptr ? take_of_call(channel) : std::nullopt;
      if (message && message->kind != kind)
        fail("nodes: node " + std::to_string(k) + " calls " + call_of(message->kind) + " while node 0 calls " +
             call_of(kind));
      if (message) given[k] = std::move(message->bytes);
      if (!channel.broken().empty()) fail(gone(k, channel));
      all_there &= given[k] != nullptr;
    }
    if (all_there) return;
    step_all(channels_, never);
  }
}

/// One that is gone meanwhile has given what the others need: the next call says so.
void Meeting::hand_out(Kind kind, Shared const& given) {
  for (std::size_t to = 1; to < channels_.size(); ++to) {
    for (std::size_t of = 0; of < given.size(); ++of) {
      if (of != to) channels_[to]->send({kind, static_cast<std::uint32_t>(of), given[of]});
    }
  }
  send_all(channels_, never);
}

void Meeting::ask_node_0(Kind kind, Shared& given) {
  Channel& node_0 = *channels_.front();
  node_0.send({kind, static_cast<std::uint32_t>(launch_.node), given[static_cast<std::size_t>(launch_.node)]});
  for (std::size_t missing = given.size() - 1; missing > 0;) {
    auto message = take_of_call(node_0);
    if (!message) {
      if (!node_0.broken().empty()) fail(gone(0, node_0));
      step_all(channels_, never);
    } else if (message->kind == Kind::failed) {
      fail_as_told(node_0, *message);
    } else if (message->kind != kind || message->node >= given.size() || given[message->node] != nullptr) {
      fail("nodes: node 0 sent what does not belong to " + call_of(kind));
    } else {
      given[message->node] = std::move(message->bytes);
      --missing;
    }
  }
}

void Meeting::fail_as_told(Channel& node_0, Message const& why) {
  failed_ = std::string(text_of(*why.bytes));
  node_0.finish();
  throw_failure(why);
}

void Meeting::fail(std::string const& why) {
  failed_ = why;
  if (launch_.node == 0) tell_failure(channels_, why, Blame::run);
  for (auto const& channel : channels_) {
    if (channel != nullptr) channel->finish();
  }
  throw Error(why);
}

}  // namespace hiway::detail::nodes
