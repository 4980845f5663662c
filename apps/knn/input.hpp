// Input: the places, read or made, and what is asked.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "knn/place.hpp"

namespace knn {

struct InputOptions {
  std::optional<std::string> file{};  ///< names of files with records
  std::optional<std::uint32_t> places{};
  std::uint32_t k = 10;
  double latitude = 0;
  double longitude = 0;
  std::uint64_t seed = 1;  ///< of places that are made
};

struct Input {
  std::vector<Place> places;
  Place from{};
  std::uint32_t k = 0;  ///< at most as many as there are places
};

/// *Throws* BadInput.
Input make_input(InputOptions const& options);

}  // namespace knn
