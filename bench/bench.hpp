// A bench: one question, asked on one machine in one run. Every figure stands beside its floor or its baseline,
// measured in the same run in turns, with what was moved checked.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/app.hpp"

namespace bench {

using cli::Json;

/// How `hiway bench` wants it run.
struct Request {
  std::string device;         ///< "simt" or "cuda:N"; chosen and there
  unsigned repeat = 5;        ///< measured turns of each variant; on a GPU, after one that is not counted
  bool small = false;         ///< the emulated device: few items; what is asked is whether it is right
  std::function<void()> ran;  ///< to be called after each turn; measure() does
};

/// One turn of one variant.
struct Turn {
  double value = 0;  ///< in the row's unit
  bool right = false;
  std::string wrong{};  ///< one line, when it is not
  bool ended = true;    ///< false: it failed, or took longer than it may, and has no value
};

/// One of the ways that a row compares.
struct Variant {
  std::string name;  ///< "hiway", or the floor's or baseline's
  std::function<Turn()> turn;
  /// What the reader needs beside the value: bytes a slot, batches, ... Asked once, after the last turn; may be empty.
  std::function<Json()> facts{};
};

/// What a variant did in a row.
struct Measured {
  std::string variant;
  std::vector<double> values;  ///< one a turn that ended, in the order of the turns
  double median = 0;
  double lowest = 0;
  double highest = 0;
  std::optional<double> ratio;  ///< median beside that of the row's `beside`; above 1 is better, whatever the unit
  bool right = false;           ///< every turn was, the uncounted one too
  std::string wrong;            ///< the first turn's that was not
  Json facts;
};

enum class Better : std::uint8_t { more, less };

/// One row of the answer: the same work done by several variants.
struct Row {
  Json what;         ///< the parameters: threads, item_bytes, capacity_items, ...
  std::string unit;  ///< "items/s", "bytes/s", "us"
  Better better = Better::more;
  std::string beside;  ///< the variant that ratios are taken against; empty: none
  std::vector<Measured> measured;
  bool only_cpu = false;  ///< no device is in it: its times are times where the device is emulated, too
};

/// Runs the variants in turns, `request.repeat` times each; on a GPU behind one turn each that is not counted.
[[nodiscard]] Row measure(Json what, std::string unit, Better better, std::string beside,
                          std::vector<Variant> const& variants, Request const& request);

/// One question. *Threads*: one. Used once: add_options, then run.
class Bench {
 public:
  Bench() = default;
  Bench(Bench const&) = delete;
  Bench& operator=(Bench const&) = delete;
  virtual ~Bench() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string summary() const = 0;
  /// *Lifetime*: `command` goes before the Bench does.
  virtual void add_options(cli::Options& command) = 0;
  /// Before the device is chosen. *Throws* cli::BadInput for options that do not fit.
  virtual void check_options() const {}
  /// What is printed instead of running it, when the options ask for that; else empty.
  [[nodiscard]] virtual std::string listing() const { return {}; }
  /// *Throws* what the library throws.
  [[nodiscard]] virtual std::vector<Row> run(Request const& request) = 0;
  /// After run(): whether this process says what was measured. Of several that measure together, one does.
  [[nodiscard]] virtual bool tells() const { return true; }
  /// Further files that the options ask for, of rows that were verified.
  [[nodiscard]] virtual std::vector<cli::File> files(std::vector<Row> const& /*rows*/,
                                                     Request const& /*request*/) const {
    return {};
  }
};

using Benches = std::vector<std::unique_ptr<Bench>>;

/// What a bench answered, and how it was asked.
struct Result {
  std::string bench;
  std::string command;  ///< as one line, to ask it again
  Request request;
  std::vector<Row> rows;
};

/// The first thing that is not right, in one line; empty when everything is. An answer without a row is not right.
[[nodiscard]] std::string first_wrong(std::vector<Row> const& rows);

/// {bench, command, device, machine, emulated, repeat, right, rows: [{what, unit, better, beside, measured: [{variant,
/// median, lowest, highest, values, ratio, right, wrong, facts}]}]}; on the emulated device every time is null, but in
/// rows that are only_cpu.
[[nodiscard]] Json to_json(Result const& result);

/// The same for people.
[[nodiscard]] std::string to_text(Result const& result);

}  // namespace bench
