// Handelman's proofs: p >= 0 wherever all of g1, g2, ... are, because p is a sum of their products with factors >= 0. With
// degree 1 that is Farkas' lemma. What such a sum is, a linear program finds.
#pragma once
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "lib/plan/polynomial.hpp"
#include "lib/plan/simplex.hpp"

namespace hiway::plan {

/// The sum of factor times the product of the given polynomials with these numbers; a number may be there twice.
struct Proof {
  struct Term {
    Rational factor;
    std::vector<std::size_t> product;
  };
  std::vector<Term> terms;
};

class Handelman {
 public:
  /// Products up to `degree`, in the monomials of these and of `targets`.
  Handelman(std::vector<Polynomial> const& given, std::size_t degree, std::vector<Polynomial> const& targets);

  /// *Throws* TooMuchWork.
  [[nodiscard]] bool prove(Polynomial const& target);
  /// Of the last one, which succeeded.
  [[nodiscard]] Proof proof() const;
  /// After one that failed: what each monomial counts for. All products count for 0 or more, the target for less: so do
  /// all that has no proof for this reason.
  [[nodiscard]] std::map<Monomial, Rational> refutation() const;

 private:
  std::vector<std::vector<std::size_t>> products_;  // product k is the simplex' variable k
  std::vector<Monomial> monomials_;                 // of its rows
  std::vector<Simplex::Number> rows_;
  std::optional<Monomial> foreign_;  // the target's monomial that no row has
  Rational foreign_sign_;
  Simplex simplex_;
};

/// With those of the given polynomials that have to do with the target.
[[nodiscard]] std::optional<Proof> prove_at_least_0(Polynomial const& target, std::vector<Polynomial> const& given,
                                                    std::size_t degree);

/// No point meets all: -1 >= 0 follows.
[[nodiscard]] std::optional<Proof> prove_empty(std::vector<Polynomial> const& given, std::size_t degree);

}  // namespace hiway::plan
