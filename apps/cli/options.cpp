#include "cli/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/bad_input.hpp"

namespace cli {

Option Option::type_name(std::string const& name) const { return Option{*option_->type_name(name)}; }
Option Option::default_str(std::string const& text) const { return Option{*option_->default_str(text)}; }
Option Option::expected(int least, int most) const { return Option{*option_->expected(least, most)}; }
Option Option::delimiter(char between) const { return Option{*option_->delimiter(between)}; }
Option Option::one_at_a_time() const { return Option{*option_->allow_extra_args(false)}; }
Option Option::group(std::string const& heading) const { return Option{*option_->group(heading)}; }

namespace {

template <class Value>
Option add(CLI::App& app, std::string const& names, Value& value, std::string const& text) {
  return Option{*app.add_option(names, value, text)};
}

/// What `parse` does to `app`. False: help or the version was asked for, and is printed.
template <class Parse>
bool parsed(CLI::App& app, Parse parse) {
  try {
    parse();
  } catch (CLI::Success const& help) {
    app.exit(help);  // prints it
    return false;
  } catch (CLI::ParseError const& error) {
    throw BadInput{error.what()};
  }
  return true;
}

}  // namespace

Options::Options(std::string const& summary, std::string const& name)
    : app_(std::make_shared<CLI::App>(summary, name)) {}

Option Options::add_option(std::string const& names, std::string& value, std::string const& text) {
  return add(*app_, names, value, text);
}
Option Options::add_option(std::string const& names, double& value, std::string const& text) {
  return add(*app_, names, value, text);
}
Option Options::add_option(std::string const& names, std::int32_t& value, std::string const& text) {
  return add(*app_, names, value, text);
}
Option Options::add_option(std::string const& names, std::int64_t& value, std::string const& text) {
  return add(*app_, names, value, text);
}
Option Options::add_option(std::string const& names, std::uint32_t& value, std::string const& text) {
  return add(*app_, names, value, text);
}
Option Options::add_option(std::string const& names, std::uint64_t& value, std::string const& text) {
  return add(*app_, names, value, text);
}
Option Options::add_option(std::string const& names, std::optional<std::string>& value, std::string const& text) {
  return add(*app_, names, value, text);
}
Option Options::add_option(std::string const& names, std::optional<double>& value, std::string const& text) {
  return add(*app_, names, value, text);
}
Option Options::add_option(std::string const& names, std::optional<std::int64_t>& value, std::string const& text) {
  return add(*app_, names, value, text);
}
Option Options::add_option(std::string const& names, std::optional<std::uint32_t>& value, std::string const& text) {
  return add(*app_, names, value, text);
}
Option Options::add_option(std::string const& names, std::vector<std::string>& values, std::string const& text) {
  return add(*app_, names, values, text);
}
Option Options::add_option(std::string const& names, std::vector<std::int64_t>& values, std::string const& text) {
  return add(*app_, names, values, text);
}
Option Options::add_option(std::string const& names, std::vector<std::uint32_t>& values, std::string const& text) {
  return add(*app_, names, values, text);
}
Option Options::add_flag(std::string const& names, bool& value, std::string const& text) {
  return Option{*app_->add_flag(names, value, text)};
}

void Options::add_version(std::string const& text) { app_->set_version_flag("--version", text); }
void Options::footer(std::string const& text) { app_->footer(text); }

Options Options::add_command(std::string const& name, std::string const& summary) {
  app_->require_subcommand(0, 1);
  return Options{app_->get_subcommand_ptr(app_->add_subcommand(name, summary))};
}

std::vector<std::string> Options::names() const {
  std::vector<std::string> names;
  for (CLI::Option const* option : app_->get_options()) names.push_back(option->get_name());
  return names;
}

bool Options::parse(std::vector<std::string> words) {
  std::ranges::reverse(words);  // as CLI11 takes them
  return parsed(*app_, [&] { app_->parse(std::move(words)); });
}
bool Options::parse_line(std::string const& line) {
  return parsed(*app_, [&] { app_->parse(line); });
}
bool Options::given() const { return app_->parsed(); }
bool Options::given(std::string const& name) const { return app_->get_option(name)->count() > 0; }

}  // namespace cli
