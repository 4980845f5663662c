#include "lib/movement_table.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "hiway/error.hpp"
#include "lib/json.hpp"
#include "lib/movement/carrier.hpp"

namespace hiway {
namespace {

constexpr std::size_t largest_item = 65536;  // create_tunnel's limit
constexpr std::size_t longest_file = 1 << 20;

constexpr std::pair<char const*, Direction> directions[] = {{"cpu_to_gpu", Direction::cpu_to_gpu},
                                                            {"gpu_to_cpu", Direction::gpu_to_cpu},
                                                            {"gpu_to_gpu", Direction::gpu_to_gpu}};
constexpr std::pair<char const*, BusUse> uses[] = {
    {"one_way", BusUse::one_way}, {"both_ways", BusUse::both_ways}, {"peer", BusUse::peer}};

constexpr bool go_together(Direction direction, BusUse bus) {
  return (direction == Direction::gpu_to_gpu) == (bus == BusUse::peer);
}

/// The movements that a row may name.
std::vector<std::pair<char const*, Movement>> movements_of_tables() {
  std::vector<std::pair<char const*, Movement>> names;
  for (Carrier const* const c : carriers()) {
    if (c->is_in_tables()) names.emplace_back(c->name(), c->movement());
  }
  return names;
}

MovementRow read_row(Json const& value, std::string const& pointer) {
  JsonObject const object(value, pointer, {"direction", "bus", "up_to_bytes", "movement", "because"});
  MovementRow row;
  row.direction = object.choice<Direction>("direction", {directions[0], directions[1], directions[2]});
  row.bus = object.choice<BusUse>("bus", {uses[0], uses[1], uses[2]});
  if (!go_together(row.direction, row.bus))
    fail_at(value.place, pointer, "'gpu_to_gpu' goes with 'peer', and nothing else does");
  Json const& bytes = object.get("up_to_bytes");
  require(bytes, Json::Kind::integer, object.pointer("up_to_bytes"));
  if (bytes.integer < 1 || bytes.integer > std::int64_t{largest_item})
    fail_at(bytes.place, object.pointer("up_to_bytes"), "must be 1 to 65536, not " + std::to_string(bytes.integer));
  row.up_to_bytes = static_cast<std::size_t>(bytes.integer);
  row.movement = object.choice<Movement>("movement", movements_of_tables());
  row.because = object.text("because");
  return row;
}

std::string read_file(std::string const& path) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) throw ConfigError("is a directory");
  errno = 0;
  std::ifstream file{path, std::ios::binary};
  if (!file) throw ConfigError(std::string("cannot be opened: ") + std::strerror(errno));
  std::string text(longest_file + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) throw ConfigError(std::string("cannot be read: ") + std::strerror(errno));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > longest_file) throw ConfigError("is longer than 1 MiB: no table");
  return text;
}

}  // namespace

MovementTable::MovementTable(std::string name, std::string_view json) : name_(std::move(name)) {
  Json const root = parse_json(json);
  JsonObject const object(root, "", {"measured", "rows"});  // "measured" is for people only
  Json const& list = object.get("rows");
  rows_ = read_list(list, "/rows", read_row);
  std::set<std::tuple<Direction, BusUse, std::size_t>> there;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    MovementRow const& row = rows_[i];
    if (!there.emplace(row.direction, row.bus, row.up_to_bytes).second)
      fail_at(list.items[i].place, "/rows/" + std::to_string(i), "this direction, bus and up_to_bytes are there twice");
  }
  bool const between = std::ranges::any_of(rows_, [](MovementRow const& row) { return row.bus == BusUse::peer; });
  for (auto const& [direction_name, direction] : directions) {
    for (auto const& [bus_name, bus] : uses) {
      bool const needed = go_together(direction, bus) && (bus != BusUse::peer || between);
      if (needed && !there.contains({direction, bus, largest_item}))
        fail_at(list.place, "/rows", std::string("no row up to 65536 bytes for ") + direction_name + ", " + bus_name);
    }
  }
  std::ranges::stable_sort(rows_, {}, &MovementRow::up_to_bytes);
}

// Small items: measured with this library on an H200, in spans, by one CPU thread (bench/results/tunnel_h200.json,
// round_trip_h200.json). The last row over the bus follows what copy engines do; no tunnel was measured for it. Between
// devices: two H100s (bench/results/movement_two_h100.json).
MovementTable MovementTable::built_in() {
  std::string const near = " times dma in items a second; round trip 14 us, not 28 (H200)";
  std::string const both = "direct 0.95" + near;
  std::string const bulk = "copies alone use the bus both ways at once, 101 GB/s (H200)";
  using enum Direction;
  return {"built-in table",
          {{cpu_to_gpu, BusUse::one_way, largest_item, Movement::direct, "direct 1.02" + near},
           {gpu_to_cpu, BusUse::one_way, largest_item, Movement::direct, "direct 1.14" + near},
           {cpu_to_gpu, BusUse::both_ways, 512, Movement::direct, both},
           {gpu_to_cpu, BusUse::both_ways, 512, Movement::direct, both},
           {cpu_to_gpu, BusUse::both_ways, largest_item, Movement::dma, bulk},
           {gpu_to_cpu, BusUse::both_ways, largest_item, Movement::dma, bulk},
           {gpu_to_gpu, BusUse::peer, 32, Movement::direct,
            "direct 1.02 times dma in items a second; round trip 20 us, not 39 (two H100s)"},
           {gpu_to_gpu, BusUse::peer, 512, Movement::dma, "dma 1.61 times direct in items a second (two H100s)"},
           {gpu_to_gpu, BusUse::peer, largest_item, Movement::direct,
            "direct 1.37 times dma in items a second (two H100s)"}}};
}

MovementChoice MovementTable::choose(Direction direction, std::size_t item_bytes, BusUse bus) const {
  auto const row = std::ranges::find_if(rows_, [&](MovementRow const& r) {
    return r.direction == direction && r.bus == bus && item_bytes <= r.up_to_bytes;
  });
  if (row == rows_.end()) return {Movement::direct, name_ + ": nothing measured between devices"};
  std::string const up_to = name_ + ": up to " + std::to_string(row->up_to_bytes) + " B ";
  if (bus == BusUse::peer) return {row->movement, up_to + "between devices: " + row->because};
  return {row->movement, up_to + (direction == Direction::cpu_to_gpu ? "to" : "from") + " the device, bus used " +
                             (bus == BusUse::one_way ? "one way: " : "both ways: ") + row->because};
}

MovementTable chosen_movement_table() {
  char const* const path = std::getenv("HIWAY_MOVEMENT_TABLE");
  if (path == nullptr || *path == '\0') return MovementTable::built_in();
  try {
    return {std::string("table ") + path, read_file(path)};
  } catch (ConfigError const& error) {
    throw ConfigError(std::string("HIWAY_MOVEMENT_TABLE: ") + path + ": " + error.what());
  }
}

}  // namespace hiway
