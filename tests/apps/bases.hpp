// Bases from letters and back.
#pragma once
#include <string>
#include <string_view>

#include "genome/sequence.hpp"

inline genome::Sequence bases(std::string_view letters) {
  genome::Sequence sequence;
  for (char letter : letters) sequence.push_back(static_cast<genome::Base>(std::string_view{"ACGTN"}.find(letter)));
  return sequence;
}

inline std::string letters(genome::Sequence const& sequence) {
  std::string text;
  for (genome::Base base : sequence) text += "ACGTN"[static_cast<std::size_t>(base)];
  return text;
}
