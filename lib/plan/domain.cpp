#include "lib/plan/domain.hpp"

#include <algorithm>

#include "lib/plan/handelman.hpp"

namespace hiway::plan {

void Domain::add(Polynomial const& at_least_0) {
  Polynomial tight = tightened(at_least_0);
  if (auto const number = tight.number(); number && *number >= 0) return;
  if (std::ranges::find(all_, tight) == all_.end()) all_.push_back(std::move(tight));
}

bool Domain::implies(Polynomial const& at_least_0) const {
  Polynomial const tight = tightened(at_least_0);
  return prove_at_least_0(tight, all_, std::max(degree_, tight.degree())).has_value();
}

bool Domain::empty() const { return prove_empty(all_, degree_).has_value(); }

bool Domain::decide(Polynomial const& at_least_0) const {
  if (auto const number = at_least_0.number()) return *number >= 0;
  if (implies(at_least_0)) return true;
  if (implies(-at_least_0 - 1)) return false;
  throw Split{at_least_0};
}

void for_each_piece(std::vector<Polynomial> const& assumed,
                    std::function<void(std::vector<Polynomial> const&)> const& piece) {
  constexpr int most = 200;
  std::vector<std::vector<Polynomial>> open{assumed};
  for (int pieces = 0; !open.empty(); ++pieces) {
    if (pieces == most) throw NoModel{"more than " + std::to_string(most) + " cases"};
    std::vector<Polynomial> own = std::move(open.back());
    open.pop_back();
    try {
      piece(own);
    } catch (Split const& split) {
      open.push_back(own);
      open.back().push_back(-split.at_least_0 - 1);
      open.push_back(std::move(own));
      open.back().push_back(split.at_least_0);
    }
  }
}

}  // namespace hiway::plan
