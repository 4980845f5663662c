#include "blast/packed.hpp"

namespace blast {

PackedSequence::PackedSequence(genome::Sequence const& sequence) : bases_(static_cast<std::int32_t>(sequence.size())) {
  std::size_t const words = (sequence.size() + bases_a_word - 1) / bases_a_word;
  words_.resize(words + 2 * padding_words);
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    auto const shift = static_cast<unsigned>(30 - 2 * (i % bases_a_word));
    words_[padding_words + i / bases_a_word] |= static_cast<std::uint32_t>(sequence[i]) << shift;
  }
}

}  // namespace blast
