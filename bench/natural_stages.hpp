// The GPU stages of bench natural: the forms that a user writes first. Only natural_stages.cpp is compiled for the GPU.
#pragma once
#include <cstddef>
#include <hiway/pipeline.hpp>
#include <string>
#include <vector>

#include "bench/numbered.hpp"

namespace bench {

/// At most so many threads has a GPU stage whose grid the library chooses.
[[nodiscard]] std::size_t most_gpu_threads(std::string const& device);

/// Of items of 4, 16 and 64 bytes, on the grid that the library chooses.
/// A sink in item form; it counts into `tallies`, one for each thread of the stage.
template <std::size_t Bytes>
void add_check_stage(hiway::Pipeline& pipe, hiway::Tunnel<Numbered<Bytes>>& from, hiway::View<Tally> tallies);
/// A source in loop form: each thread puts every so many-th item of the order, one at a time.
template <std::size_t Bytes>
void add_source_stage(hiway::Pipeline& pipe, hiway::Tunnel<Numbered<Bytes>>& into, hiway::View<Order> order);
/// A stage in value form: it answers each item with the one whose number is one higher. `nodes`: those that run it.
template <std::size_t Bytes>
void add_answer_stage(hiway::Pipeline& pipe, hiway::Tunnel<Numbered<Bytes>>& from, hiway::Tunnel<Numbered<Bytes>>& into,
                      std::vector<int> nodes = {});

}  // namespace bench
