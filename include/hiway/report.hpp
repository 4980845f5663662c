// What a run tells about itself.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace hiway {

/// What went through one tunnel.
struct TunnelReport {
  std::string name;
  std::string movement;        ///< "memory" (one home), "direct", "dma" or "managed"
  std::string why;             ///< why this movement: "asked for", or the table's row that Movement::automatic took
  std::uint64_t items = 0;     ///< put, spilled ones included: what the end check calls created
  std::uint64_t finished = 0;  ///< tasks ended by its readers; equal to items where the run has ended
  std::uint64_t spilled = 0;
  bool spills_to_host = false;     ///< its pool's items lie in host memory: the device had too little
  std::uint64_t throttled = 0;     ///< times that writers from outside a cycle waited for its spill pools to empty
  std::uint64_t batches = 0;       ///< dma: batches that were copied
  std::size_t capacity_items = 0;  ///< at the end: with TunnelConfig::grow_to_items more than it began with, perhaps
};

/// What went through one stencil tunnel.
struct StencilReport {
  std::string name;
  std::uint64_t regions = 0;        ///< that became whole
  std::uint64_t region_copies = 0;  ///< of them, copied across the bus; none where values are set where they are read
  std::uint64_t values = 0;         ///< of complete frames
  std::uint64_t bytes_moved = 0;    ///< across the bus
  std::uint64_t tasks = 0;
  std::uint64_t put_back = 0;               ///< StencilTasks::put_back: times that tasks were not ready, by strips
  bool first_task_before_last_set = false;  ///< a task had ended when the run's last value was set
};

/// What Pipeline::wait() tells about a run.
struct RunReport {
  std::string device;
  double seconds = 0;       ///< steady clock from the start of the stages to the end of the last
  std::uint64_t items = 0;  ///< put into all tunnels together
  double end_detection_us =
      -1;  ///< from the last task of the last CPU stage to the announced end; -1 when no CPU stage reads a tunnel
  std::vector<TunnelReport> tunnels;
  std::vector<StencilReport> stencils;
};

}  // namespace hiway
