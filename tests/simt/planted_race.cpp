// Plants one race, or the same program without it: TSan must report `missing_syncwarp`, `missing_second_barrier`,
// `relaxed_publish` and `just_returns` (exit code 66) and be silent on `with_syncwarp`, `with_second_barrier`,
// `release_publish` and `leaves_in_order`.
// A checker is itself tested.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "hiway/launch/simt.hpp"
#include "hiway/machine/lane.hpp"

namespace {

using namespace hiway::simt;

unsigned* shared_words() { return reinterpret_cast<unsigned*>(shared_memory()); }

void expect(bool condition) {
  if (condition) return;
  std::fputs("a lane read a wrong value\n", stderr);
  std::_Exit(3);
}

// Each lane of a warp writes its word and reads its neighbour's. A ballot lies between, which orders nothing.
void exchange_in_warp(bool with_sync) {
  unsigned const me = lane_id().thread;
  unsigned const neighbour = (me & ~31u) | ((me + 1) & 31u);
  for (unsigned round = 1; round <= 4; ++round) {
    shared_words()[me] = round + me;
    meet(WarpOperation::ballot, ~0u, 1, 0);
    if (with_sync) meet(WarpOperation::sync, ~0u, 0, 0);
    expect(shared_words()[neighbour] == round + neighbour);
    meet(WarpOperation::sync, ~0u, 0, 0);
  }
}

// Lanes of a block write, meet, read, and write again: a fast lane's second write against a slow lane's read. The
// slow lane leaves the first barrier late: a mark shared with the second barrier would hide the race.
void exchange_in_block(bool with_second) {
  unsigned const me = lane_id().thread;
  unsigned const neighbour = (me + 1) % lane_id().threads;
  for (unsigned round = 1; round <= 4; ++round) {
    shared_words()[me] = round + me;
    sync_block();
    unsigned const seen = shared_words()[neighbour];
    expect(seen == round + neighbour || (!with_second && seen == round + 1 + neighbour));
    if (with_second) sync_block();
  }
}

// The first warp of each block publishes to the second one through shared memory; block 0 to the others through
// `across`.
struct Across {
  unsigned item = 0;
  unsigned flag = 0;
};

void publish(unsigned& item, unsigned& flag, std::memory_order order) {
  item = 42;
  std::atomic_ref(flag).store(1, order);
}

void receive(unsigned& item, unsigned& flag) {
  while (std::atomic_ref(flag).load(std::memory_order_acquire) == 0) yield();
  expect(item == 42);
}

void publish_to_another_warp(Across& across, std::memory_order order) {
  LaneId const id = lane_id();
  if (id.thread == 0) publish(shared_words()[0], shared_words()[1], order);
  if (id.thread == 32) receive(shared_words()[0], shared_words()[1]);
  if (id.thread == 1 && id.block == 0) publish(across.item, across.flag, order);
  if (id.thread == 33 && id.block != 0) receive(across.item, across.flag);
}

// A lane writes and leaves; the others of its block meet without it and read.
void leave_and_meet(bool in_order) {
  if (lane_id().thread == 40) {
    shared_words()[0] = 42;
    if (in_order) order_leaving();
    return;
  }
  sync_block();
  expect(shared_words()[0] == 42);
}

}  // namespace

int main(int arguments, char** values) {
  std::string_view const what = arguments == 2 ? values[1] : "";
  Across across;
  std::function<void()> body;
  if (what == "missing_syncwarp") body = [] { exchange_in_warp(false); };
  if (what == "with_syncwarp") body = [] { exchange_in_warp(true); };
  if (what == "missing_second_barrier") body = [] { exchange_in_block(false); };
  if (what == "with_second_barrier") body = [] { exchange_in_block(true); };
  if (what == "relaxed_publish") body = [&] { publish_to_another_warp(across, std::memory_order_relaxed); };
  if (what == "release_publish") body = [&] { publish_to_another_warp(across, std::memory_order_release); };
  if (what == "just_returns") body = [] { leave_and_meet(false); };
  if (what == "leaves_in_order") body = [] { leave_and_meet(true); };
  if (!body) {
    std::fputs(
        "usage: planted_race missing_syncwarp|with_syncwarp|missing_second_barrier|with_second_barrier|"
        "relaxed_publish|release_publish|just_returns|leaves_in_order\n",
        stderr);
    return 1;
  }
  Device device({.os_threads = 2});
  device.launch("planted race", {.blocks = 3, .threads_per_block = 64, .shared_bytes = 64 * sizeof(unsigned)}, body)
      .wait();
}
