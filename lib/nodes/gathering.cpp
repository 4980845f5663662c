#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "hiway/error.hpp"
#include "lib/nodes/hello.hpp"
#include "lib/nodes/joining.hpp"

namespace hiway::detail::nodes {
namespace {

using std::chrono::steady_clock;

class Gathering {
 public:
  Gathering(Launch const& launch, Listener const& listener)
      : launch_(launch), listener_(listener), channels_(static_cast<std::size_t>(launch.size)) {}

  Channels run();

 private:
  /// A connection that has not said yet who it is.
  struct Stranger {
    Descriptor socket;
    HelloBytes said{};
    std::size_t bytes = 0;
    bool has_left = false;
  };

  void wait(Deadline until);
  void let_in_strangers();
  void listen_to(Stranger& stranger);
  void judge(Stranger& stranger, Hello const& hello);
  void look_for_broken();
  [[nodiscard]] bool all_here() const;
  [[nodiscard]] std::string missing() const;

  static constexpr std::size_t most_strangers = 1024;  // then the one that has been silent for longest goes

  Launch const& launch_;
  Listener const& listener_;
  Channels channels_;
  std::vector<Stranger> strangers_;
};

Channels Gathering::run() {
  Deadline const until = steady_clock::now() + launch_.patience;
  try {
    while (!all_here()) {
      if (steady_clock::now() >= until)
        throw Error("nodes: " + missing() + " did not come to " + listener_.place().text() + launch_.patience_text());
      wait(until);
      let_in_strangers();
      for (Stranger& stranger : strangers_) listen_to(stranger);
      std::erase_if(strangers_, [](Stranger const& one) { return one.has_left; });
      look_for_broken();
    }
  } catch (ConfigError const& error) {
    tell_failure(channels_, error.what(), Blame::description);
    throw;
  } catch (Error const& error) {
    tell_failure(channels_, error.what(), Blame::run);
    throw;
  }
  for (auto const& channel : channels_) {
    if (channel != nullptr) channel->send({Kind::welcome, 0, nullptr});
  }
  send_all(channels_, until + std::chrono::seconds(1));
  return std::move(channels_);
}

void Gathering::wait(Deadline until) {
  std::vector<pollfd> sockets{{listener_.descriptor(), POLLIN, 0}};
  for (Stranger const& stranger : strangers_) sockets.push_back({stranger.socket.number(), POLLIN, 0});
  for (auto const& channel : channels_) {
    if (channel != nullptr) sockets.push_back({channel->descriptor(), POLLIN, 0});
  }
  wait_for(sockets, until);
}

void Gathering::let_in_strangers() {
  for (;;) {
    Descriptor socket = listener_.accept();
    if (!socket) return;
    if (strangers_.size() == most_strangers) strangers_.erase(strangers_.begin());
    strangers_.push_back({std::move(socket)});
  }
}

void Gathering::listen_to(Stranger& stranger) {
  std::ptrdiff_t const now = receive_some(stranger.socket.number(), std::span(stranger.said).subspan(stranger.bytes));
  if (now < 0 && must_wait(errno)) return;
  stranger.bytes += now > 0 ? static_cast<std::size_t>(now) : 0;
  stranger.has_left = now <= 0 || !may_be_hello(std::span(stranger.said).first(stranger.bytes));
  if (stranger.has_left || stranger.bytes < stranger.said.size()) return;
  stranger.has_left = true;
  judge(stranger, hello_of(stranger.said).value_or(Hello{}));
}

Verdict verdict_on(Hello const& hello, Channels const& channels) {
  if (hello.protocol != protocol_version) return Verdict::other_protocol;
  if (hello.size != channels.size()) return Verdict::other_size;
  if (hello.node == 0 || hello.node >= hello.size) return hello.node == 0 ? Verdict::twice : Verdict::no_such_node;
  return channels[hello.node] == nullptr ? Verdict::welcome : Verdict::twice;
}

void Gathering::judge(Stranger& stranger, Hello const& hello) {
  Verdict const verdict = verdict_on(hello, channels_);
  Hello const answer{.size = static_cast<std::uint32_t>(channels_.size()), .verdict = verdict};
  HelloBytes const bytes = bytes_of(answer);
  bool const sent = send_some(stranger.socket.number(), bytes) == static_cast<std::ptrdiff_t>(bytes.size());
  if (verdict != Verdict::welcome)
    throw ConfigError("nodes: " + listener_.place().text() + " refuses: " + refusal_of(hello, answer));
  if (sent) channels_[hello.node] = std::make_unique<Channel>(std::move(stranger.socket));
}

void Gathering::look_for_broken() {
  for (std::size_t k = 1; k < channels_.size(); ++k) {
    if (channels_[k] == nullptr) continue;
    channels_[k]->step();
    if (!channels_[k]->broken().empty()) throw Error(gone(k, *channels_[k]));
  }
}

bool Gathering::all_here() const {
  return std::all_of(channels_.begin() + 1, channels_.end(), [](auto const& channel) { return channel != nullptr; });
}

std::string Gathering::missing() const {
  constexpr std::size_t most = 8;  // that are named
  std::vector<std::size_t> numbers;
  for (std::size_t k = 1; k < channels_.size(); ++k) {
    if (channels_[k] == nullptr) numbers.push_back(k);
  }
  std::string text = numbers.size() == 1 ? "node" : "nodes";
  for (std::size_t i = 0; i < std::min(numbers.size(), most); ++i)
    text += (i == 0 ? " " : ", ") + std::to_string(numbers[i]);
  if (numbers.size() > most) text += ", and " + std::to_string(numbers.size() - most) + " more";
  return text;
}

}  // namespace

Channels gather(Launch const& launch, Listener const& listener) { return Gathering(launch, listener).run(); }

}  // namespace hiway::detail::nodes
