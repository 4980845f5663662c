#include "cli/output.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
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

namespace fs = std::filesystem;

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

/// A rename would put a file in the place of /dev/stdout, or of a pipe.
bool is_special(fs::path const& path) {
  std::error_code none;
  return fs::exists(path, none) && !fs::is_regular_file(path, none);
}

/// Where a link leads, be it to a file that is not there yet: a rename would put the file in the link's place.
fs::path behind_links(fs::path path) {
  std::error_code none;
  for (int links = 0; links < 40 && fs::is_symlink(path, none); ++links)
    path = path.parent_path() / fs::read_symlink(path, none);
  return path;
}

[[noreturn]] void fail_to_write(std::string const& path) {
  throw std::runtime_error{path + ": cannot be written: " + std::strerror(errno)};
}

void write_or_throw(fs::path const& file, std::string const& text, std::string const& shown) {
  errno = 0;
  std::ofstream out{file, std::ios::binary};
  out << text;
  out.close();
  if (!out) fail_to_write(shown);
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
  std::error_code none;
  if (fs::is_directory(path, none)) throw BadInput{option + ": " + path + ": is a directory"};
  fs::path folder = fs::path{path}.parent_path();
  if (folder.empty()) folder = ".";
  std::string const target = is_special(path) ? path : folder.string();
  errno = 0;
  if (access(target.c_str(), W_OK) != 0)
    throw BadInput{option + ": " + path + ": cannot be written: " + std::strerror(errno)};
}

void write_whole(std::string const& path, std::string const& text) {
  if (is_special(path)) return write_or_throw(path, text, path);
  std::error_code error;
  fs::path const target = behind_links(path);
  fs::path temporary = target;
  temporary += ".part" + std::to_string(getpid());
  try {
    write_or_throw(temporary, text, path);
    fs::rename(temporary, target);
  } catch (...) {
    fs::remove(temporary, error);
    throw;
  }
}

}  // namespace cli
