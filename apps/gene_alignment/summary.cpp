#include "gene_alignment/summary.hpp"

#include <algorithm>

namespace gene_alignment {
namespace {

std::uint64_t fnv1a(std::uint64_t hash, std::int32_t number) {
  auto const bits = static_cast<std::uint32_t>(number);
  for (unsigned shift = 0; shift < 32; shift += 8) hash = (hash ^ (bits >> shift & 0xffU)) * 0x100'0000'01b3U;
  return hash;
}

}  // namespace

Summary summarize(std::vector<Alignment> alignments) {
  std::ranges::sort(alignments, {}, &Alignment::position);
  Summary summary;
  for (Alignment const& alignment : alignments) {
    ++summary.coarse_matches;
    summary.similarity_sum += alignment.similarity;
    summary.matches_checksum = fnv1a(summary.matches_checksum, alignment.position);
    summary.matches_checksum = fnv1a(summary.matches_checksum, alignment.similarity);
    summary.matches_checksum = fnv1a(summary.matches_checksum, alignment.target_index);
  }
  if (!alignments.empty()) summary.first = alignments.front();
  return summary;
}

}  // namespace gene_alignment
