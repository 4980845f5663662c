// The node code of the Black-Scholes pipelines, by topology:
//
//   diff_type    PriceAt<0> -> PriceAt<1> ... PriceAt<4>
//   same_type    Price{.stage = 0} -> Price{.stage = 1} ... Price{.stage = 4}
//   self_loop    PriceAgain: `again` leads back to it
//   merged       PriceAll
//   four_same    SplitInFour -> Price{.stage = way}, four of them
//   four_diff    SplitInFour -> PriceAt<way>
//   four_staged  SplitInTwo{.bit = 1} -> SplitInTwo{.bit = 0} twice -> Price{.stage = way}
#pragma once
#include <cstdint>
#include <hiway/segment/node.hpp>

#include "black_scholes/pricing.hpp"

namespace black_scholes {

using hiway::segment::Emit;
using hiway::segment::Maybe;

/// A source: the options of a run, by number.
struct Generate {
  std::uint64_t seed;
  HIWAY_DEVICE Option operator()(std::uint64_t number) const { return make_option(seed, number); }
};

/// A stage whose number is its node's.
struct Price {
  Pricing pricing;
  std::uint32_t stage;
  HIWAY_DEVICE Maybe<Option> operator()(Option const& in) const {
    Option option = in;
    return pricing.pass(option, stage) ? Maybe<Option>(option) : Maybe<Option>::none();
  }
};

/// A stage whose number is its type's.
template <std::uint32_t Stage>
struct PriceAt {
  Pricing pricing;
  HIWAY_DEVICE Maybe<Option> operator()(Option const& in) const { return Price{pricing, Stage}(in); }
};

/// A stage whose number is the option's.
struct PriceAgain {
  Pricing pricing;
  HIWAY_DEVICE void operator()(Option const& in, Emit<Option>& again, Emit<Option>& done) const {
    Option option = in;
    if (!pricing.pass(option, option.stage)) return;
    if (option.stage < stages) {
      again.put(option);
    } else {
      done.put(option);
    }
  }
};

/// All stages of a pipeline.
struct PriceAll {
  Pricing pricing;
  HIWAY_DEVICE Maybe<Option> operator()(Option const& in) const {
    Option option = in;
    return pricing.pass_all(option, 0, stages) ? Maybe<Option>(option) : Maybe<Option>::none();
  }
};

/// To the option's way.
struct SplitInFour {
  HIWAY_DEVICE void operator()(Option const& option, Emit<Option>& way0, Emit<Option>& way1, Emit<Option>& way2,
                               Emit<Option>& way3) const {
    switch (way_of(option)) {
      case 0: return way0.put(option);
      case 1: return way1.put(option);
      case 2: return way2.put(option);
      default: return way3.put(option);
    }
  }
};

/// By one bit of the option's way.
struct SplitInTwo {
  std::uint32_t bit;
  HIWAY_DEVICE void operator()(Option const& option, Emit<Option>& zero, Emit<Option>& one) const {
    if ((way_of(option) >> bit & 1U) == 0) {
      zero.put(option);
    } else {
      one.put(option);
    }
  }
};

}  // namespace black_scholes
