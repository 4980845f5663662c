#include "run_over_nodes.hpp"

#include <chrono>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "files_over_nodes.hpp"
#include "lib/named_failure.hpp"
#include "lib/node_reports.hpp"
#include "lib/nodes/cluster_access.hpp"
#include "lib/report_signal.hpp"

namespace hiway {
namespace {

using std::chrono::steady_clock;

constexpr auto patience = std::chrono::seconds(30);         // until all have prepared
constexpr auto patience_to_tell = std::chrono::seconds(1);  // that the beginning of a run has failed

std::exception_ptr error_of(detail::nodes::RunNews::Failure const& failure) {
  std::string const who = failure.gone ? "" : "node " + std::to_string(failure.node) + ": ";
  return std::make_exception_ptr(Error(who + failure.why));
}

}  // namespace

RunOverNodes::RunOverNodes(Layout& layout, RunState const& state, RunErrors& errors)
    : layout_(layout), state_(state), errors_(errors) {
  if (has_others()) news_.emplace(*ClusterAccess::meeting(*layout.config.cluster), layout.config.node_silence);
}

void RunOverNodes::together(std::function<void()> const& work) {
  if (!has_others()) return work();
  std::exception_ptr own;
  try {
    work();
  } catch (...) {
    own = std::current_exception();
  }
  std::string const why = what_of(own);
  auto const said = ClusterAccess::meeting(*layout_.config.cluster)->exchange(std::as_bytes(std::span(why)));
  if (own) std::rethrow_exception(own);
  for (std::size_t node = 0; node < said.size(); ++node) {
    if (!said[node].empty())
      throw Error("node " + std::to_string(node) + ": " + std::string(detail::nodes::text_of(said[node])));
  }
}

void RunOverNodes::connect() {
  if (!has_others()) return;
  OverNodes const& here = layout_.over_nodes;
  detail::nodes::Meeting& meeting = *ClusterAccess::meeting(*layout_.config.cluster);
  meeting.require_same("the pipeline", here.declared.text);
  learn_what_node_0_asks();
  line_.reset();  // no node is gone: the meeting would have said so
  if (!has_line()) return;
  detail::nodes::MakeNodeLine const make = detail::nodes::registered_node_line();
  if (make == nullptr)
    throw ConfigError("tunnel '" + here.declared.graph.tunnels[here.opened.front()] +
                      "' leads from one node to another, for which the program must be linked with hiway::nodes");
  line_ = make(meeting, here.departures, here.arrivals, steady_clock::now() + patience);
}

void RunOverNodes::learn_what_node_0_asks() {
  constexpr std::pair<char const*, bool FilesAskedFor::*> files[] = {
      {"trace ", &FilesAskedFor::trace}, {"numbers ", &FilesAskedFor::numbers}, {"graph ", &FilesAskedFor::graph}};
  FilesAskedFor const own = files_asked_for(layout_.config);
  std::string words;
  for (auto const& [word, file] : files) words += own.*file ? word : "";
  auto const said = ClusterAccess::meeting(*layout_.config.cluster)->exchange(std::as_bytes(std::span(words)));
  std::string_view const node_0 = detail::nodes::text_of(said.front());
  for (auto const& [word, file] : files) layout_.over_nodes.asked.*file = node_0.find(word) != node_0.npos;
}

void RunOverNodes::begin(std::function<void()> const& work) {
  if (!has_others()) return work();
  news_->begin();
  ++run_;
  told_ = told_failure_ = false;
  signals_seen_ = report_signals();
  settled_.store(false, std::memory_order_relaxed);
  try {
    work();
    if (line_) line_->begin(run_, [this] { look(); });
  } catch (...) {
    tell_failure(std::current_exception());
    throw;
  }
}

/// *Throws* what another node has told.
void RunOverNodes::look() const {
  news_->step();
  if (auto const* const failure = news_->failure()) std::rethrow_exception(error_of(*failure));
}

/// *Waits*: until the others know it, a second at most.
void RunOverNodes::tell_failure(std::exception_ptr const& error) noexcept {
  try {
    news_->say_failed(what_of(error));
    for (auto const until = steady_clock::now() + patience_to_tell;
         !news_->is_settled() && steady_clock::now() < until;) {
      if (!news_->step()) std::this_thread::yield();
    }
  } catch (...) {  // the others will see that this node is gone
  }
}

bool RunOverNodes::step_line() { return line_ && !errors_.get() && line_->step(); }

void RunOverNodes::log_at_node_0(LogLevel level, std::string text) {
  int const node = layout_.over_nodes.node;
  if (!has_others() || node == 0) return log(level, has_others() ? prefix_of_node(node) + text : text);
  std::scoped_lock const lock(mutex_);
  texts_.push_back(static_cast<char>(level) + std::move(text));
}

void RunOverNodes::pass_texts_on() {
  std::vector<std::string> texts;
  {
    std::scoped_lock const lock(mutex_);
    texts.swap(texts_);
  }
  for (std::string const& text : texts) news_->say(text);
  for (auto const& [node, text] : news_->take_said()) {
    if (!text.empty()) log(static_cast<LogLevel>(text.front()), prefix_of_node(node) + text.substr(1));
  }
}

/// Nobody observes a node whose stages have ended.
void RunOverNodes::answer() {
  bool const is_node_0 = layout_.over_nodes.node == 0;
  unsigned const signals_now = report_signals();
  bool const is_asked = is_node_0 ? std::exchange(signals_seen_, signals_now) != signals_now : news_->take_asked();
  if (!is_asked) return;
  if (is_node_0) news_->ask();
  if (state_.has_left(std::memory_order_relaxed))
    return log_at_node_0(LogLevel::error, std::string(asked_by_signal) + ": its stages have ended");
  if (!is_node_0) times_asked_.fetch_add(1, std::memory_order_relaxed);
}

bool RunOverNodes::step_news() {
  pass_texts_on();  // before a failure that comes of them
  answer();
  if (!told_failure_) {
    if (std::exception_ptr const error = errors_.get()) {
      news_->say_failed(what_of(error));
      told_ = told_failure_ = true;
    } else if (!told_ && state_.has_left(std::memory_order_acquire) && (!line_ || line_->is_done())) {
      news_->say_over();
      told_ = true;
    }
  }
  bool const moved = news_->step();
  if (news_->failure() != nullptr && !errors_.get()) errors_.set(error_of(*news_->failure()));
  if (news_->is_settled()) settled_.store(true, std::memory_order_release);
  return moved;
}

bool RunOverNodes::nap(std::atomic<bool> const& over, std::chrono::microseconds time, bool heeds) noexcept {
  Bell& bell = layout_.line_bell;
  if (!heeds || !line_ || errors_.get()) return bell.nap_unless(over, time, heeds);
  try {
    bool const has_come = !line_->begin_nap() || bell.nap_at(line_->descriptor(), over, time);
    line_->end_nap();
    return has_come;
  } catch (...) {
    errors_.fail(errors_.parts.line, std::current_exception());
    return true;
  }
}

void RunOverNodes::rest() const noexcept {
  if (!line_ || !line_->is_near()) rest_between_looks();
}

// With a node that is gone, or does not answer, UCX 1.13 can neither wait for what is under way nor end without it: it
// ends the process. So what it has stays until the process ends.
void RunOverNodes::abandon_line() noexcept {
  if (has_others() && news_->failure() != nullptr && news_->failure()->gone) static_cast<void>(line_.release());
}

detail::nodes::RunOfNodes RunOverNodes::run() const {
  return {*ClusterAccess::meeting(*layout_.config.cluster), news_->number(), layout_.config.node_silence};
}

int RunOverNodes::lost() const {
  return news_->failure() != nullptr && news_->failure()->gone ? news_->failure()->node : -1;
}

std::exception_ptr RunOverNodes::first_error() const {
  if (!has_others() || news_->failure() == nullptr || news_->failure()->node == layout_.over_nodes.node)
    return errors_.get();
  return error_of(*news_->failure());
}

}  // namespace hiway
