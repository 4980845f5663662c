// Three strategies, and the one line that replays any schedule of theirs.
//
//   random:SEED     each point: anybody; two of three seeds stay longer with one fiber
//   pct:SEED:STEPS  fibers have random priorities, the highest runs; at up to 3 random points of STEPS the running one
//                   falls behind all others (Burckhardt et al., ASPLOS 2010)
//   delays:I+K,...  round robin, each fiber until it waits; at decision I the K next in turn are passed over. Delays
//                   enumerates all schedules with a bounded sum of K (Emmi et al., POPL 2011)
// A load's old value costs delays by its age; of random and PCT schedules three of four have some, from many to few.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/explore/explorer.hpp"
#include "tests/mix.hpp"

namespace hiway::explore {

/// splitmix64.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() {
    std::uint64_t const number = hiway_tests::mix(state_);
    state_ += hiway_tests::mix_step;
    return number;
  }
  unsigned below(unsigned n) { return static_cast<unsigned>(((*this)() >> 32) * n >> 32); }

 private:
  std::uint64_t state_;
};

/// The `n`-th fiber of `runnable` at or after `from`, in turn.
inline unsigned in_turn(std::uint32_t runnable, unsigned from, unsigned n) {
  std::uint32_t const behind = runnable & ~lanes_below(from);
  for (std::uint32_t left = behind != 0 ? behind : runnable;; left = left != 0 ? left : runnable) {
    if (n-- == 0) return static_cast<unsigned>(std::countr_zero(left));
    left &= left - 1;
  }
}

/// One load of how many brings an old value; 0: none does.
inline unsigned old_one_in(std::uint64_t seed) {
  constexpr std::array<unsigned, 4> one_in = {0, 2, 6, 24};
  return one_in[seed / 3 % one_in.size()];
}
inline unsigned old_now_and_then(Rng& rng, unsigned one_in, unsigned options) {
  return one_in == 0 || rng.below(one_in) != 0 ? 0 : 1 + rng.below(options - 1);
}

class RandomWalk final : public Strategy {
 public:
  explicit RandomWalk(std::uint64_t seed) : seed_(seed) {}
  void begin(unsigned) override {
    rng_ = Rng(seed_);
    constexpr std::array<unsigned, 3> stay = {1, 4, 16};
    leaves_one_in_ = stay[seed_ % stay.size()];
  }
  unsigned pick(std::uint32_t runnable, unsigned preferred) override {
    if (leaves_one_in_ != 1 && rng_.below(leaves_one_in_) != 0) return preferred;
    return in_turn(runnable, 0, rng_.below(static_cast<unsigned>(std::popcount(runnable))));
  }
  unsigned choose(unsigned options) override { return rng_.below(options); }
  unsigned age(unsigned options) override { return old_now_and_then(rng_, old_one_in(seed_), options); }
  [[nodiscard]] std::string seed() const override { return "random:" + std::to_string(seed_); }

 private:
  std::uint64_t seed_;
  Rng rng_{0};
  unsigned leaves_one_in_ = 1;
};

class Pct final : public Strategy {
 public:
  Pct(std::uint64_t seed, unsigned steps) : seed_(seed), steps_(steps) {}
  void begin(unsigned fibers) override {
    rng_ = Rng(~seed_);
    at_ = 0;
    for (unsigned f = 0; f < fibers; ++f) {
      unsigned const other = rng_.below(f + 1);
      order_[f] = order_[other];
      order_[other] = static_cast<int>(f) + 1;
    }
    for (unsigned& change : changes_) change = rng_.below(steps_ + 1);
    lowest_ = 0;
  }
  unsigned pick(std::uint32_t runnable, unsigned preferred) override {
    ++at_;
    for (unsigned const change : changes_)
      if (change == at_) order_[preferred] = --lowest_;
    unsigned best = static_cast<unsigned>(std::countr_zero(runnable));
    for (std::uint32_t left = runnable & (runnable - 1); left != 0; left &= left - 1) {
      auto const f = static_cast<unsigned>(std::countr_zero(left));
      if (order_[f] > order_[best]) best = f;
    }
    return best;
  }
  unsigned choose(unsigned options) override { return rng_.below(options); }
  unsigned age(unsigned options) override { return old_now_and_then(rng_, old_one_in(seed_), options); }
  [[nodiscard]] std::string seed() const override {
    return "pct:" + std::to_string(seed_) + ":" + std::to_string(steps_);
  }

 private:
  std::uint64_t seed_;
  unsigned steps_;
  Rng rng_{0};
  unsigned at_ = 0;
  std::array<int, Explorer::most_fibers> order_{};  ///< priorities; the highest runs
  std::array<unsigned, 3> changes_{};
  int lowest_ = 0;
};

class Delays final : public Strategy {
 public:
  struct Delay {
    unsigned decision;
    unsigned passed_over;
  };

  explicit Delays(unsigned most, std::vector<Delay> plan = {}) : most_(most), plan_(std::move(plan)) {}
  void begin(unsigned) override {
    options_.clear();
    next_ = 0;
  }
  unsigned pick(std::uint32_t runnable, unsigned preferred) override {
    return in_turn(runnable, preferred, choose(static_cast<unsigned>(std::popcount(runnable))));
  }
  unsigned choose(unsigned options) override {
    auto const decision = static_cast<unsigned>(options_.size());
    options_.push_back(static_cast<std::uint8_t>(options));
    if (next_ == plan_.size() || plan_[next_].decision != decision) return 0;
    return plan_[next_++].passed_over % options;
  }
  unsigned age(unsigned options) override { return choose(options); }
  /// On to the next schedule, after one has run; false after the last.
  [[nodiscard]] bool advance() {
    unsigned spent = 0;
    for (Delay const& d : plan_) spent += d.passed_over;
    for (auto i = static_cast<unsigned>(options_.size()); i-- != 0;) {
      unsigned now = 0;
      if (!plan_.empty() && plan_.back().decision == i) {
        now = plan_.back().passed_over;
        spent -= now;
        plan_.pop_back();
      }
      if (now + 1 < options_[i] && spent + now + 1 <= most_) {
        plan_.push_back({i, now + 1});
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] std::string seed() const override {
    std::string text = "delays:";
    for (Delay const& d : plan_) {
      if (text.back() != ':') text += ',';
      text += std::to_string(d.decision) + "+" + std::to_string(d.passed_over);
    }
    return text;
  }

 private:
  unsigned most_;
  std::vector<Delay> plan_;
  std::size_t next_ = 0;               // in the plan
  std::vector<std::uint8_t> options_;  // of each decision of the schedule
};

/// The strategy that HIWAY_SEED names. *Throws* std::invalid_argument when it names none.
inline std::unique_ptr<Strategy> strategy_of(std::string const& seed) {
  auto const number = [&](std::size_t& at) {
    std::size_t used = 0;
    std::uint64_t const n = std::stoull(seed.substr(at), &used);
    at += used + 1;  // and what separates it from the next
    return n;
  };
  std::size_t at = seed.find(':') + 1;
  if (seed.starts_with("random:")) return std::make_unique<RandomWalk>(number(at));
  if (seed.starts_with("pct:")) {
    std::uint64_t const n = number(at);
    return std::make_unique<Pct>(n, static_cast<unsigned>(number(at)));
  }
  if (seed.starts_with("delays:")) {
    std::vector<Delays::Delay> plan;
    while (at < seed.size()) {
      auto const decision = static_cast<unsigned>(number(at));
      plan.push_back({decision, static_cast<unsigned>(number(at))});
    }
    return std::make_unique<Delays>(0, std::move(plan));
  }
  throw std::invalid_argument("HIWAY_SEED is random:SEED, pct:SEED:STEPS or delays:I+K,...: " + seed);
}

}  // namespace hiway::explore
