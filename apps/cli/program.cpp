#include "cli/program.hpp"

#include <algorithm>
#include <exception>
#include <hiway/error.hpp>
#include <hiway/report.hpp>
#include <iostream>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bad_input.hpp"
#include "cli/machine.hpp"
#include "cli/names.hpp"

namespace cli {
namespace {

/// Whatever it is, on one line.
std::string one_line(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  std::string line;
  for (char c : text) {
    bool const is_control = static_cast<unsigned char>(c) < ' ' || c == 0x7f;
    line += c == '\n' ? std::string{"; "} : std::string{is_control ? '?' : c};
  }
  return line;
}

std::string needs_command(Names const& names) { return "a command is needed: " + joined(names) + " (hiway --help)"; }

/// Says what is wrong with the first words, more plainly than the parser would. Returns those that are to be parsed.
std::vector<std::string> checked(std::vector<std::string> const& words, Commands const& commands) {
  Names const names = names_of(commands);
  if (words.empty()) throw BadInput{needs_command(names)};
  std::string const& name = words.front();
  if (name.starts_with("-")) return words;
  auto const command = std::ranges::find(commands, name, [](auto const& known) { return known->name(); });
  if (command == commands.end()) throw BadInput{"no command '" + name + "': " + joined(names) + " (hiway --help)"};
  auto const others = std::span{words}.subspan(1);
  (*command)->check(others);
  auto const parsed = std::span{words}.first(1 + (*command)->keep_others(others));
  return {parsed.begin(), parsed.end()};
}

/// The command line without the program's path.
std::string command_line(std::vector<std::string> const& words) {
  std::string line = "hiway";
  for (std::string const& word : words) line += " " + word;
  return line;
}

int dispatch(std::vector<std::string> const& words, Commands const& commands) {
  std::vector<std::string> const to_parse = checked(words, commands);
  Options program{"CPU-GPU pipelines of persistent stages: applications, benches, devices, plans.", "hiway"};
  program.footer("Ends with 0, or 1 when a run failed or was not verified, or 2 for bad arguments or input.");
  program.add_version("hiway " + version());
  std::vector<Options> options;
  for (auto const& command : commands) {
    options.push_back(program.add_command(command->name(), command->summary()));
    command->add_options(options.back());
  }
  if (!program.parse(to_parse)) return done;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (options[i].given()) return commands[i]->run(options[i], command_line(words));
  }
  // Options alone. That it needs a command is said last: an option that nobody knows has been named.
  throw BadInput{needs_command(names_of(commands))};
}

int complain(std::string_view what, Exit code) {
  std::cerr << "hiway: " << one_line(what) << "\n";
  return code;
}

}  // namespace

int run_program(int argc, char const* const* argv, Commands const& commands) {
  hiway::take_report_signal();  // it may come before the application has a pipeline
  try {
    return dispatch({argv + std::min(argc, 1), argv + argc}, commands);
  } catch (BadInput const& error) {
    return complain(error.what(), bad_arguments);
  } catch (hiway::ConfigError const& error) {  // NoDevice is one
    return complain(error.what(), bad_arguments);
  } catch (std::bad_alloc const&) {
    return complain("not enough memory", failed);
  } catch (std::exception const& error) {
    return complain(error.what(), failed);
  }
}

}  // namespace cli
