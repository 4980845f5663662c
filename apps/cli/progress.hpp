// Progress: a bar on stderr while something long runs, where stderr is a terminal; nothing anywhere else.
#pragma once
#include <string>

namespace cli {

/// *Threads*: one at a time.
class Progress {
 public:
  static constexpr unsigned unknown = 0;  ///< how many steps there are

  explicit Progress(unsigned steps);
  ~Progress();  ///< clears the bar's line
  Progress(Progress const&) = delete;
  Progress& operator=(Progress const&) = delete;

  /// What runs now.
  void say(std::string what);
  /// One step is done.
  void step();
  /// Takes the bar off the screen, for other output.
  void clear() const;

 private:
  void draw() const;

  bool shown_;
  unsigned steps_;
  unsigned done_ = 0;
  std::string what_;
};

}  // namespace cli
