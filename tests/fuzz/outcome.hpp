// Outcome: what a reader made of a mutated input: it is read, or refused in one line, in time and within memory.
#pragma once
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <ctime>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>

#include "cli/bad_input.hpp"
#include "hiway/error.hpp"
#include "tests/environment.hpp"

namespace hiway_tests {

inline bool is_one_line(std::string_view text) { return !text.empty() && text.find_first_of("\n\r") == text.npos; }

/// Beyond a GiB more than now, memory is not had while it lives. Not under sanitizers, which take terabytes of addresses.
class LittleMemory {
 public:
  LittleMemory() {
    getrlimit(RLIMIT_AS, &before_);
#ifndef HIWAY_SANITIZED
    std::uint64_t pages = 0;
    std::ifstream{"/proc/self/statm"} >> pages;
    rlimit now = before_;
    now.rlim_cur = pages * 4096 + (std::uint64_t{1} << 30);
    if (pages > 0 && now.rlim_cur < before_.rlim_max) setrlimit(RLIMIT_AS, &now);
#endif
  }
  ~LittleMemory() { setrlimit(RLIMIT_AS, &before_); }
  LittleMemory(LittleMemory const&) = delete;
  LittleMemory& operator=(LittleMemory const&) = delete;

 private:
  rlimit before_{};
};

/// Counts what became of `HIWAY_FUZZ` inputs (2,000 where it is not set), shared out to the formats: 13 of them.
class Outcomes {
 public:
  static constexpr std::uint64_t formats = 13;

  explicit Outcomes(std::string name) : name_(std::move(name)) {}
  ~Outcomes() {
    std::cout << name_ << ": " << read_ + refused_ << " inputs: " << read_ << " read, " << refused_ << " refused"
              << std::endl;
  }
  Outcomes(Outcomes const&) = delete;
  Outcomes& operator=(Outcomes const&) = delete;

  /// Calls `read` with each seed, until the first failure.
  void each(std::function<void(std::uint64_t seed)> const& read) {
    std::uint64_t const first = from_environment("HIWAY_SEED", 1);
    std::uint64_t const count = (from_environment("HIWAY_FUZZ", 2000) + formats - 1) / formats;
    LittleMemory const little;
    for (std::uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) one(read, seed);
    if (count >= 100 && !testing::Test::HasFailure()) {  // the inputs are worth something
      EXPECT_GT(read_, 0U);
      EXPECT_GT(refused_, 0U);
    }
  }
  void one(std::function<void(std::uint64_t)> const& read, std::uint64_t seed) {
    std::string const where = name_ + ", HIWAY_SEED=" + std::to_string(seed) + " HIWAY_FUZZ=1: ";
    std::clock_t const begin = std::clock();  // of CPU: other programs run, too
    auto const refusal = [&](std::string const& text) {
      ++refused_;
      EXPECT_TRUE(is_one_line(text)) << where << "not one line: '" << text << "'";
    };
    try {
      read(seed);
      ++read_;
    } catch (cli::BadInput const& error) {
      refusal(error.what());
    } catch (hiway::Error const& error) {
      refusal(error.what());
    } catch (std::exception const& error) {
      ADD_FAILURE() << where << "no refusal: " << error.what();
    }
#ifdef HIWAY_SANITIZED
    constexpr std::clock_t most = 60 * CLOCKS_PER_SEC;
#else
    constexpr std::clock_t most = 5 * CLOCKS_PER_SEC;
#endif
    EXPECT_LT(std::clock() - begin, most) << where << "too slow";
  }

 private:
  std::string name_;
  std::uint64_t read_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace hiway_tests
