// MovementTable: what Movement::automatic chooses for a tunnel across the bus or between two devices. A table is made
// by measuring one machine (`hiway bench movement --write-table FILE`). docs/adr/0018 gives the reasons for the
// built-in one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hiway/config.hpp"

namespace hiway {

/// Whether a pipeline's tunnels cross the bus in one direction or in both. peer: a tunnel from one device to another.
enum class BusUse : std::uint8_t { one_way, both_ways, peer };

/// What is chosen for items of up to `up_to_bytes` that are larger than those of the next smaller row.
struct MovementRow {
  Direction direction = Direction::cpu_to_gpu;  ///< gpu_to_gpu if and only if bus is BusUse::peer
  BusUse bus = BusUse::one_way;
  std::size_t up_to_bytes = 0;
  Movement movement = Movement::direct;  ///< of a carrier that may be in tables (lib/movement/carrier.hpp)
  std::string because{};                 ///< "direct 1.19 times dma in items a second"
};

struct MovementChoice {
  Movement movement = Movement::direct;
  std::string why;  ///< one line: the table, its row, and the row's reason
};

class MovementTable {
 public:
  /// A table in JSON (docs/performance_tunnels.md). Every item size must have a row in each direction across the bus,
  /// for either use of the bus. There may be no rows between devices. *Throws* ConfigError in one line, with the place,
  /// for whatever is wrong with the table.
  MovementTable(std::string name, std::string_view json);
  [[nodiscard]] static MovementTable built_in();

  /// Direct, if nothing between devices was measured. *Shape and units*: as in a row, 1 to 65536 bytes.
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
