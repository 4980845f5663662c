// Handelman's proofs: p >= 0 wherever all of g1, g2, ... are, because p is a sum of their products with factors >= 0.
// With degree 1 that is Farkas' lemma. A linear program finds such a sum.
#pragma once
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "lib/plan/polynomial.hpp"
#include "lib/plan/simplex.hpp"

namespace hiway::plan {

/// A sum of terms: factor times the product of the given polynomials with these numbers. A number may occur twice.
struct Proof {
  struct Term {
    Rational factor;
    std::vector<std::size_t> product;
  };
  std::vector<Term> terms;
};

class Handelman {
 public:
  /// Uses products of `given` up to `degree`, over the monomials of these products and of `targets`.
  Handelman(std::vector<Polynomial> const& given, std::size_t degree, std::vector<Polynomial> const& targets);

  /// *Throws* TooMuchWork.
  [[nodiscard]] bool prove(Polynomial const& target);
  /// The proof of the last call of prove(), which succeeded.
  [[nodiscard]] Proof proof() const;
  /// After a call of prove() that failed: a weight for each monomial. With these weights every product is 0 or more,
  /// and the target is below 0. Any other target that is below 0 has no proof for the same reason.
  [[nodiscard]] std::map<Monomial, Rational> refutation() const;

 private:
  std::vector<std::vector<std::size_t>> products_;  // product k is the simplex' variable k
  std::vector<Monomial> monomials_;                 // of its rows
  std::vector<Simplex::Number> rows_;
  std::optional<Monomial> foreign_;  // the target's monomial that no row has
  Rational foreign_sign_;
  Simplex simplex_;
};

/// Uses only those of the given polynomials that are linked to the target by common variables.
[[nodiscard]] std::optional<Proof> prove_at_least_0(Polynomial const& target, std::vector<Polynomial> const& given,
                                                    std::size_t degree);

/// No point meets all: -1 >= 0 follows.
[[nodiscard]] std::optional<Proof> prove_empty(std::vector<Polynomial> const& given, std::size_t degree);

}  // namespace hiway::plan
