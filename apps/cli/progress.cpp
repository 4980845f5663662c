#include "cli/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace cli {

Progress::Progress(unsigned steps) : shown_(isatty(STDERR_FILENO) == 1), steps_(steps) {}

Progress::~Progress() { clear(); }

void Progress::say(std::string what) {
  what_ = std::move(what);
  draw();
}

void Progress::step() {
  done_ = steps_ == unknown ? done_ + 1 : std::min(done_ + 1, steps_);
  draw();
}

void Progress::clear() const {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void Progress::draw() const {
  if (!shown_) return;
  if (steps_ == unknown) {
    std::fprintf(stderr, "\r\033[K[%u] %s", done_, what_.c_str());
    std::fflush(stderr);
    return;
  }
  constexpr unsigned width = 30;
  unsigned const full = done_ * width / steps_;
  std::fprintf(stderr, "\r\033[K[%s%s] %u/%u %s", std::string(full, '#').c_str(),
               std::string(width - full, '.').c_str(), done_, steps_, what_.c_str());
  std::fflush(stderr);
}

}  // namespace cli
