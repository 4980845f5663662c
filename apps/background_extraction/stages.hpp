// The stage code of background extraction: the rules, byte by byte, and the order in which strips may be worked on.
//
//   per byte of each frame but the first, in the order of frames
//     difference = |value - mean|, cut to a byte
//     foreground = the value where the difference is above the threshold, else 0
//     mean       = mean * (1 - alpha) + value * alpha
//   the first frame's values are the first means
//
// No multiplication may be fused with an addition: cmake/HiwayApps.cmake forbids it, for foregrounds are the same on every
// device.
#pragma once
#include <cstdint>
#include <hiway/pipeline.hpp>

#include "background_extraction/video.hpp"

namespace background_extraction {

inline constexpr std::uint8_t threshold = 24;
inline constexpr float alpha = 0.03F;

struct alignas(16) Means {
  float values[sizeof(Pack)];
};
/// What is known of the background at one place.
struct Background {
  Means means[Strip::packs];
  hiway::Word<std::uint32_t> frame;  ///< the last one in the means; kept by for_each_in_order alone
};

/// The background, and room for the strips of a frame, on the device.
struct Model {
  Background* places;
  Strip* strips;
  std::uint32_t count;  ///< of both
};

HIWAY_DEVICE inline std::uint8_t extract(float& mean, std::uint8_t byte) {
  auto const value = static_cast<float>(byte);
  auto const difference = static_cast<std::uint8_t>(value < mean ? mean - value : value - mean);
  mean = mean * (1.0F - alpha) + value * alpha;
  return difference > threshold ? byte : std::uint8_t{0};
}
/// One of those who share a strip.
struct Lane {
  unsigned number;
  unsigned count;
};
/// The foreground of a strip, by all lanes that share it. `foreground` may be the frame's strip itself.
HIWAY_DEVICE inline void extract(Model const& model, Strip const& frame, Strip& foreground, Lane lane) {
  constexpr unsigned at_once = 4;  // are on their way before the first has come
  Background& background = model.places[frame.place];
  if (lane.number == 0) {
    foreground.frame = frame.frame;
    foreground.place = frame.place;
  }
  for (unsigned first = lane.number; first < Strip::packs; first += at_once * lane.count) {
    Pack packs[at_once] = {};
    Means means[at_once] = {};
    for (unsigned k = 0; k < at_once; ++k) {
      unsigned const i = first + k * lane.count;
      if (i >= Strip::packs) continue;
      packs[k] = frame.contents[i];
      means[k] = background.means[i];
    }
    for (unsigned k = 0; k < at_once; ++k) {
      unsigned const i = first + k * lane.count;
      if (i >= Strip::packs) continue;
      for (unsigned j = 0; j < sizeof(Pack); ++j) packs[k].bytes[j] = extract(means[k].values[j], packs[k].bytes[j]);
      foreground.contents[i] = packs[k];
      background.means[i] = means[k];
    }
  }
}

/// Calls `work(strip, lane)` for the model's strips, in all threads of a block for each of them: an ordinary kernel.
HIWAY_NO_SPACE_CHECK template <class Work>
HIWAY_DEVICE inline void for_each_strip(Model const& model, Work&& work) {
  hiway::anywhere([&](auto m) {
    for (std::uint32_t s = m.block_index(); s < model.count; s += m.block_count())
      work(model.strips[s], Lane{m.thread_in_block(), m.block_threads()});
  });
}

/// Begins the background with the model's strips, which are the first frame's.
struct Begin {
  Model model;
  HIWAY_DEVICE void operator()() const {
    for_each_strip(model, [&](Strip const& strip, Lane lane) {
      Background& background = model.places[strip.place];
      for (unsigned i = lane.number; i < Strip::packs; i += lane.count) {
        for (unsigned j = 0; j < sizeof(Pack); ++j)
          background.means[i].values[j] = static_cast<float>(strip.contents[i].bytes[j]);
      }
      if (lane.number == 0) background.frame = {0};
    });
  }
};

/// Calls `work(strip, lane)` for the strips of a tunnel, in all lanes of a warp for each of them, until the tunnel has
/// ended: the loop of a persistent stage. Strips of one place come in the order of frames: who has one waits until the one
/// before is in the background.
///
///   O1  a place's strips are put by one thread, in the order of frames, and a ring gives its items away in the order in which
///       they were put: whoever has a strip knows that the ones before it are done, or that others have them
///   O2  so of the strips that are worked on, that of the oldest claim waits for nobody; the others' turns come one by one
///   O3  `work` puts the strip's foreground, for whose room it waits for the takers alone; nobody has such room while he waits
///       for his turn
///   O4  A release, by one lane behind all: the means are whole. B acquire, by each lane of whoever is next
///   O5  a run that aborts is left from has_ended
HIWAY_NO_SPACE_CHECK template <class Work>
HIWAY_DEVICE inline void for_each_in_order(Model const& model, hiway::Outlet<Strip> const& in, Work&& work) {
  hiway::anywhere([&](auto m) {
    in.for_each_warp([&](Strip const& strip) {
      hiway::Word<std::uint32_t>& last = model.places[strip.place].frame;
      for (unsigned misses = 0; m.load(last, hiway::MemoryOrder::acquire) + 1 != strip.frame && !in.has_ended();
           ++misses)
        m.relax(misses);  // B, O5
      m.sync_warp(m.lanes());
      work(strip, Lane{m.lane(), m.count(m.lanes())});
      m.sync_warp(m.lanes());
      if (m.lane() == 0) m.store(last, strip.frame, hiway::MemoryOrder::release);  // A
    });
  });
}

}  // namespace background_extraction
