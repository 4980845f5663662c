#include "bench/bench.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iomanip>
#include <sstream>
#include <utility>

#include "cli/app.hpp"
#include "cli/machine.hpp"
#include "hiway/error.hpp"

namespace bench {
namespace {

void take(Measured& measured, Turn const& turn) {
  if (turn.right) return;
  if (measured.right) measured.wrong = turn.wrong.empty() ? "not right" : turn.wrong;  // the first one
  measured.right = false;
}

/// A run that fails, or is aborted, is a wrong turn; what comes after it is measured all the same.
Turn turn_of(Variant const& variant) {
  try {
    return variant.turn();
  } catch (hiway::ConfigError const&) {
    throw;  // nothing ran
  } catch (hiway::Error const& error) {
    return {.wrong = error.what(), .ended = false};
  }
}

void summarize(Measured& measured) {
  if (measured.values.empty()) return;
  auto const [lowest, highest] = std::ranges::minmax(measured.values);
  measured.median = cli::median(measured.values);
  measured.lowest = lowest;
  measured.highest = highest;
}

/// Beside a floor that is not there, or is 0, there is no ratio.
void compare(Row& row) {
  auto const floor = std::ranges::find(row.measured, row.beside, &Measured::variant);
  if (floor == row.measured.end()) return;
  for (Measured& measured : row.measured) {
    double const above = row.better == Better::more ? measured.median : floor->median;
    double const below = row.better == Better::more ? floor->median : measured.median;
    if (above > 0 && below > 0) measured.ratio = above / below;
  }
}

/// 12.6 G, 3.42
std::string figure(double value) {
  constexpr std::array<std::pair<double, char const*>, 4> units{{{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}}};
  auto const unit = std::ranges::find_if(units, [&](auto const& u) { return std::abs(value) >= u.first; });
  std::ostringstream text;
  if (unit == units.end()) {
    text << std::setprecision(4) << value;
  } else {
    text << std::setprecision(4) << value / unit->first << unit->second;
  }
  return text.str();
}

/// "pattern each, threads 4096"
std::string words_of(Json const& object) {
  std::string text;
  for (auto const& [key, value] : object.items()) {
    if (!text.empty()) text += ", ";
    text += key + " " + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  return text;
}

Json to_json(Measured const& measured, bool emulated) {
  bool const timed = !emulated && !measured.values.empty();
  auto const or_null = [&](Json value) { return timed ? value : Json(nullptr); };
  Json object;
  object["variant"] = measured.variant;
  object["median"] = or_null(measured.median);
  object["lowest"] = or_null(measured.lowest);
  object["highest"] = or_null(measured.highest);
  object["values"] = or_null(measured.values);
  object["ratio"] = timed && measured.ratio ? Json(*measured.ratio) : Json(nullptr);
  object["right"] = measured.right;
  object["wrong"] = measured.wrong;
  object["facts"] = measured.facts;
  return object;
}

/// Whether its times are no times.
bool is_emulated(Row const& row, Request const& request) { return request.small && !row.only_cpu; }

Json to_json(Row const& row, bool emulated) {
  Json object;
  object["what"] = row.what;
  object["unit"] = row.unit;
  object["better"] = row.better == Better::more ? "more" : "less";
  object["beside"] = row.beside;
  object["measured"] = Json::array();
  for (Measured const& measured : row.measured) object["measured"].push_back(to_json(measured, emulated));
  return object;
}

}  // namespace

Row measure(Json what, std::string unit, Better better, std::string beside, std::vector<Variant> const& variants,
            Request const& request) {
  Row row{std::move(what), std::move(unit), better, std::move(beside), {}};
  for (Variant const& variant : variants) {
    row.measured.push_back({});
    row.measured.back().variant = variant.name;
    row.measured.back().right = true;
  }
  // Where times mean nothing no turn is lost to warming up.
  unsigned const uncounted = request.small ? 0 : 1;
  for (unsigned number = 0; number < uncounted + request.repeat; ++number) {
    for (std::size_t v = 0; v < variants.size(); ++v) {
      Turn const turn = turn_of(variants[v]);
      take(row.measured[v], turn);
      if (number >= uncounted && turn.ended) row.measured[v].values.push_back(turn.value);
      if (request.ran) request.ran();
    }
  }
  for (std::size_t v = 0; v < variants.size(); ++v) {
    row.measured[v].facts = variants[v].facts ? variants[v].facts() : Json::object();
    summarize(row.measured[v]);
  }
  compare(row);
  return row;
}

std::string first_wrong(std::vector<Row> const& rows) {
  if (rows.empty()) return "no row was measured";
  for (Row const& row : rows) {
    if (row.measured.empty()) return words_of(row.what) + ": no variant was measured";
    for (Measured const& measured : row.measured) {
      if (!measured.right) return words_of(row.what) + ": " + measured.variant + ": " + measured.wrong;
    }
  }
  return {};
}

Json to_json(Result const& result) {
  Json object;
  object["bench"] = result.bench;
  object["command"] = result.command;
  object["device"] = result.request.device;
  object["machine"] = cli::machine_facts(result.request.device);
  object["emulated"] = result.request.small;
  object["repeat"] = result.request.repeat;
  object["right"] = first_wrong(result.rows).empty();
  object["rows"] = Json::array();
  for (Row const& row : result.rows) object["rows"].push_back(to_json(row, is_emulated(row, result.request)));
  return object;
}

std::string to_text(Result const& result) {
  std::ostringstream text;
  text << "bench " << result.bench << ", device " << result.request.device << ": "
       << (first_wrong(result.rows).empty() ? "right" : "NOT RIGHT");
  bool const timed =
      std::ranges::any_of(result.rows, [&](Row const& row) { return !is_emulated(row, result.request); });
  if (result.request.small) text << "; emulated: no time is a speed" << (timed ? ", but for CPU threads alone" : "");
  if (timed) text << "; median of " << result.request.repeat << " (lowest to highest)";
  text << "\n";
  for (Row const& row : result.rows) {
    bool const emulated = is_emulated(row, result.request);
    text << words_of(row.what) << " [" << row.unit << (row.better == Better::less ? ", less is better" : "") << "]\n";
    for (Measured const& measured : row.measured) {
      text << "  " << std::left << std::setw(24) << measured.variant;
      if (!measured.right) text << "WRONG: " << measured.wrong << "  ";
      if (!emulated && !measured.values.empty()) {
        text << std::right << std::setw(9) << figure(measured.median) << "  (" << figure(measured.lowest) << " to "
             << figure(measured.highest) << ")";
        if (measured.ratio && measured.variant != row.beside)
          text << "  x" << std::setprecision(3) << *measured.ratio << " of " << row.beside;
      } else if (measured.right) {
        text << "right";
      }
      std::string const facts = words_of(measured.facts);
      text << (facts.empty() ? "" : "  ") << facts << "\n";
    }
  }
  return text.str();
}

}  // namespace bench
