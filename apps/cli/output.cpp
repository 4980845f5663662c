#include "cli/output.hpp"

#include <algorithm>
#include <hiway/output_file.hpp>
#include <iomanip>
#include <iostream>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/bad_input.hpp"
#include "cli/machine.hpp"

namespace cli {
namespace {

std::string milliseconds(double seconds) {
  std::ostringstream text;
  text << std::setprecision(4) << seconds * 1e3 << " ms";
  return text.str();
}

/// Fractions with three digits.
std::string shown(Json const& value) {
  if (!value.is_number_float()) return value.is_string() ? value.get<std::string>() : value.dump();
  std::ostringstream text;
  text << std::setprecision(3) << value.get<double>();
  return text.str();
}

/// A segment's advice (cli/segment.cpp), a line for each thing.
std::vector<std::string> advice_lines(Json const& advice) {
  std::vector<std::string> lines{"for queues of " + shown(advice["budget_bytes"]) + " bytes"};
  for (Json const& node : advice["pessimistic"])
    lines.push_back(shown(node) + ": most of its queue is for items that seldom come");
  for (Json const& i : advice["interrupt"])
    lines.push_back("make " + shown(i["node"]) + " interruptible: frees " + shown(i["freed_bytes"]) + " bytes");
  for (Json const& m : advice["merge"])
    lines.push_back("merge " + shown(m["node"]) + " into " + shown(m["into"]) + ": saves " + shown(m["saved_ns"]) +
                    " ns for each item of the root");
  if (advice["bloat_bytes_left"] != 0)
    lines.push_back("bloat that stays: " + shown(advice["bloat_bytes_left"]) + " bytes");
  if (lines.size() == 1) lines.front() += ": none";
  return lines;
}

/// A list of objects with the same keys, a line each. Lists in them are left out.
std::string to_table(Json const& list) {
  std::vector<std::vector<std::string>> lines(1);
  for (auto const& [key, value] : list.front().items()) {
    if (!value.is_array()) lines.front().push_back(key);
  }
  for (Json const& object : list) {
    lines.emplace_back();
    for (auto const& [key, value] : object.items()) {
      if (!value.is_array()) lines.back().push_back(shown(value));
    }
  }
  std::ostringstream text;
  for (auto const& cells : lines) {
    for (std::size_t i = 0; i != cells.size(); ++i) {
      std::size_t width = 0;
      for (auto const& others : lines) width = std::max(width, others[i].size());
      text << "  " << (i == 0 ? std::left : std::right) << std::setw(static_cast<int>(width)) << cells[i];
    }
    text << "\n";
  }
  return text.str();
}

/// False, with a line on stderr, if there is a reason why the file cannot be written.
bool written(std::string const& file, std::string const& why, std::string const& more) {
  if (!why.empty()) std::cerr << "hiway: " << file << ": cannot be written: " << why << more << "\n";
  return why.empty();
}

}  // namespace

Json to_json(std::string const& app, std::string const& method, MethodRun const& run) {
  Json object;
  object["app"] = app;
  object["device"] = run.device;
  object["method"] = method;
  object["verified"] = run.verified;
  object["seconds"] = run.seconds;
  object["items"] = run.items;
  object["end_detection_us"] = run.end_detection_us ? Json(*run.end_detection_us) : Json(nullptr);
  object["tunnels"] = to_json(run.tunnels);
  object["result"] = run.result;
  object["machine"] = machine_facts(run.device);
  return object;
}

Json to_json(std::vector<hiway::TunnelReport> const& tunnels) {
  Json list = Json::array();
  for (hiway::TunnelReport const& tunnel : tunnels)
    list.push_back({{"name", tunnel.name},
                    {"movement", tunnel.movement},
                    {"why", tunnel.why},
                    {"items", tunnel.items},
                    {"finished", tunnel.finished},
                    {"batches", tunnel.batches}});
  return list;
}

std::string to_text(std::string const& app, std::string const& method, MethodRun const& run, bool verify) {
  std::ostringstream text;
  text << app << ", method " << method << ", device " << run.device << ": "
       << (run.verified ? "verified"
           : verify     ? "NOT VERIFIED: differs from the serial reference"
                        : "not compared with the reference")
       << "\n";
  auto const line = [&](std::string const& name, std::string const& value) {
    text << "  " << std::left << std::setw(20) << name << value << "\n";
  };
  std::string times = milliseconds(median(run.seconds));
  if (run.seconds.size() > 1) {
    auto const [fastest, slowest] = std::ranges::minmax(run.seconds);
    times += "  (median of " + std::to_string(run.seconds.size()) + "; " + milliseconds(fastest) + " to " +
             milliseconds(slowest) + ")";
  }
  line("time", times);
  line("items", std::to_string(run.items));
  if (run.end_detection_us) line("end_detection_us", Json(*run.end_detection_us).dump());
  for (hiway::TunnelReport const& tunnel : run.tunnels) {
    if (tunnel.movement != "memory") line("tunnel " + tunnel.name, tunnel.movement + " (" + tunnel.why + ")");
  }
  for (auto const& [key, value] : run.result.items()) {
    if (value.is_array() && !value.empty() && value.front().is_object()) {
      text << to_table(value);
    } else if (key == "advice") {
      for (std::string name = key; std::string const& said : advice_lines(value)) line(std::exchange(name, ""), said);
    } else {
      line(key, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  return text.str();
}

void print(std::string const& text) {
  std::cout << text << std::flush;
  if (!std::cout) throw std::runtime_error{"stdout cannot be written"};
}

void require_writable(std::string const& option, std::string const& path) {
  if (path.empty()) throw BadInput{option + ": the file's name is empty"};
  if (std::string const why = hiway::why_not_writable(path); !why.empty())
    throw BadInput{option + ": " + path + ": cannot be written: " + why};
}

bool write_or_say(File const& file) {
  if (file.path != "-") return written(file.path, hiway::write_file(file.path, file.bytes), "");
  std::cout << file.bytes << std::flush;
  return written("stdout", std::cout ? "" : "the disk is full, or it is closed", "");
}

bool write_or_print(std::string const& path, std::string const& text) {
  bool const to_file = !path.empty();
  bool const as_asked = !to_file || written(path, hiway::write_file(path, text), "; the result is on stdout");
  if (!to_file || !as_asked) print(text);
  return as_asked;
}

}  // namespace cli
