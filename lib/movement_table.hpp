// MovementTable: what Movement::automatic takes for a tunnel across the bus, or between two devices. A table is made by measuring one machine
// (`hiway bench movement --write-table FILE`); the built-in one rests on docs/adr/0018.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hiway/config.hpp"

namespace hiway {

/// Whether a pipeline's tunnels cross the bus in one direction or in both; peer: a tunnel from one device to another.
enum class BusUse : std::uint8_t { one_way, both_ways, peer };

/// What is taken for items of up to so many bytes, behind those of the next smaller row.
struct MovementRow {
  Direction direction = Direction::cpu_to_gpu;  ///< gpu_to_gpu with BusUse::peer alone, and that with nothing else
  BusUse bus = BusUse::one_way;
  std::size_t up_to_bytes = 0;
  Movement movement = Movement::direct;  ///< direct or dma
  std::string because{};                 ///< "direct 1.19 times dma in items a second"
};

struct MovementChoice {
  Movement movement = Movement::direct;
  std::string why;  ///< in one line: the table, its row, and the row's reason
};

class MovementTable {
 public:
  /// A table in JSON (docs/performance_tunnels.md). *Throws* ConfigError in one line, with the place, for whatever is wrong
  /// with it: every item size must have a row in each direction across the bus, for either use of it. Of rows between devices
  /// there may be none.
  MovementTable(std::string name, std::string_view json);
  [[nodiscard]] static MovementTable built_in();

  /// direct, where nothing between devices was measured. *Shape and units*: as in a row, 1 to 65536 bytes.
  [[nodiscard]] MovementChoice choose(Direction direction, std::size_t item_bytes, BusUse bus) const;

 private:
  MovementTable(std::string name, std::vector<MovementRow> rows) : name_(std::move(name)), rows_(std::move(rows)) {}

  std::string name_;
  std::vector<MovementRow> rows_;  ///< ascending in up_to_bytes
};

/// The table in the file that HIWAY_MOVEMENT_TABLE names, else the built-in one. *Throws* ConfigError that names the
/// variable and the file.
[[nodiscard]] MovementTable chosen_movement_table();

}  // namespace hiway
