// Options: what a command takes on its command line. The one seam in front of CLI11, whose header takes seconds to
// compile: options.cpp alone includes it.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace cli {

/// One option, as add_option has it. A handle: what is said to a copy is said to the option. *Lifetime*: its Options'.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  /// What the help calls a value.
  Option type_name(std::string const& name) const;
  /// The default that the help shows.
  Option default_str(std::string const& text) const;
  /// How many values it takes.
  Option expected(int least, int most) const;
  /// One value may hold several, with this between them.
  Option delimiter(char between) const;
  /// Takes one value each time that it is given, though its variable holds several.
  Option one_at_a_time() const;
  /// The heading under which the help has it.
  Option group(std::string const& heading) const;

 private:
  CLI::Option* option_;
};

/// The options of a command, and the commands below it. A handle: copies are of the same command. *Threads*: one.
/// *Lifetime*: a variable stays until its option has been parsed.
class Options {
 public:
  /// Of a command that stands alone.
  explicit Options(std::string const& summary = {}, std::string const& name = {});

  /// `names`: "--long", "-s,--long", or for a value without one "word". The variable keeps its value where the option
  /// is not given.
  Option add_option(std::string const& names, std::string& value, std::string const& text);
  Option add_option(std::string const& names, double& value, std::string const& text);
  Option add_option(std::string const& names, std::int32_t& value, std::string const& text);
  Option add_option(std::string const& names, std::int64_t& value, std::string const& text);
  Option add_option(std::string const& names, std::uint32_t& value, std::string const& text);
  Option add_option(std::string const& names, std::uint64_t& value, std::string const& text);
  Option add_option(std::string const& names, std::optional<std::string>& value, std::string const& text);
  Option add_option(std::string const& names, std::optional<double>& value, std::string const& text);
  Option add_option(std::string const& names, std::optional<std::int64_t>& value, std::string const& text);
  Option add_option(std::string const& names, std::optional<std::uint32_t>& value, std::string const& text);
  Option add_option(std::string const& names, std::vector<std::string>& values, std::string const& text);
  Option add_option(std::string const& names, std::vector<std::int64_t>& values, std::string const& text);
  Option add_option(std::string const& names, std::vector<std::uint32_t>& values, std::string const& text);
  Option add_flag(std::string const& names, bool& value, std::string const& text);
  /// --version, which prints `text`.
  void add_version(std::string const& text);
  /// What the help ends with.
  void footer(std::string const& text);
  /// A command below this one. At most one of them may be given.
  [[nodiscard]] Options add_command(std::string const& name, std::string const& summary);

  /// Of all options, --help too.
  [[nodiscard]] std::vector<std::string> names() const;

  /// The words after the program's name. False: help or the version was asked for, and is printed. *Throws* BadInput.
  [[nodiscard]] bool parse(std::vector<std::string> words);
  /// The same words in one line, blanks between them.
  [[nodiscard]] bool parse_line(std::string const& line);
  /// After parsing: whether this command was given.
  [[nodiscard]] bool given() const;
  /// Likewise its option of this name, which it has.
  [[nodiscard]] bool given(std::string const& name) const;

 private:
  explicit Options(std::shared_ptr<CLI::App> app) : app_(std::move(app)) {}

  std::shared_ptr<CLI::App> app_;
};

}  // namespace cli
