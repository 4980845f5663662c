// Command: what the program hiway does by one word of its command line.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/options.hpp"

namespace cli {

/// How the program ends, as program.hpp says it. What has codes of its own, says so in its header.
enum Exit : int { done = 0, failed = 1, bad_arguments = 2 };

/// One command. *Threads*: one. Used once: check, keep_others, add_options, then, after parsing, run.
class Command {
 public:
  Command() = default;
  Command(Command const&) = delete;
  Command& operator=(Command const&) = delete;
  virtual ~Command() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string summary() const = 0;
  /// Adds its options, or commands below it. *Lifetime*: `command` goes before the Command does.
  virtual void add_options(Options& /*command*/) {}
  /// Says what is wrong with the words after its name, where it can do so more plainly than the parser. *Throws*
  /// BadInput.
  virtual void check(std::span<std::string const> /*words*/) const {}
  /// How many of these words are parsed, the first ones; it keeps the others.
  [[nodiscard]] virtual std::size_t keep_others(std::span<std::string const> words) { return words.size(); }
  /// Returns the exit code; `line` is the whole command line as the user gave it. *Throws* BadInput, and what the
  /// library throws.
  virtual int run(Options const& command, std::string const& line) = 0;
};

using Commands = std::vector<std::unique_ptr<Command>>;

}  // namespace cli
