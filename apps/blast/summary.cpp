#include "blast/summary.hpp"

#include <algorithm>

namespace blast {

Summary summarize(Hits& hits) {
  std::ranges::sort(hits);
  Summary summary{.hits = hits.size()};
  for (Hit const& hit : hits) {
    for (std::int32_t const number : {hit.database_position, hit.query_position, hit.score})
      summary.checksum = cli::hash_on(summary.checksum, static_cast<std::uint32_t>(number));
  }
  return summary;
}

std::string to_tsv(Hits const& hits) {
  std::string text = "database_position\tquery_position\tscore\n";
  for (Hit const& hit : hits)
    text += std::to_string(hit.database_position) + "\t" + std::to_string(hit.query_position) + "\t" +
            std::to_string(hit.score) + "\n";
  return text;
}

}  // namespace blast
