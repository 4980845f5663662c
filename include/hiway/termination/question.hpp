// Questions: how the checker learns of, and sets, what lies at another device's home.
//
// With several devices, the first device's monitor checks. It does not touch what lies at another device, but asks that
// device's monitor, its delegate (monitors/delegate.hpp), by one word each way. Each word lies in the memory of the
// side that polls it if the other side can reach that memory, else in host memory. A question is not asked before the
// last one was answered, so a number of one bit tells an answer from the one before.
//
//   word            written by     read by         bits, from the lowest on
//   question        the checker    the delegate    its number 1, what 2, unit 32
//   answer          the delegate   the checker     the question's number 1, sum 63: as long as rings' turns last
//   UnitNews gates, readers   the delegate   the checker, among its gates
//
//   T8  A delegate acquires the question, then reads or sets what it asks for, and answers by a release. So T2
//       (termination.hpp) holds over all homes (no created is asked for before every finished is answered), and T5 at
//       each (closed, then created, by the home's own read-modify-writes). A delegate is asked again only after it has
//       answered the last question, even one whose answer was not waited for (`end`, or a wait left in an abort). So
//       one bit is enough for a question's number, and no question is lost. A delegate is asked only for what lies at
//       its home; the other sums there are 0
#pragma once
#include <cstdint>

#include "hiway/link.hpp"
#include "hiway/machine/machine.hpp"

namespace hiway {

/// What the checker asks of a delegate about a unit (T8). finished, created: the sum of those words at its home. close:
/// to set closed, then the sum of created. end: to set ended.
enum class Question : std::uint32_t { finished, created, close, end };

/// A question packed into a word.
struct AskedWord {
  static constexpr unsigned number_bits = 1;
  static constexpr unsigned what_bits = 2;
  static constexpr unsigned unit_bits = 32;
  static_assert(number_bits + what_bits + unit_bits <= 64 && static_cast<unsigned>(Question::end) < 1u << what_bits);

  HIWAY_DEVICE static constexpr std::uint64_t pack(std::uint32_t number, Question what, std::uint32_t unit) {
    return std::uint64_t{unit} << (number_bits + what_bits) | static_cast<std::uint64_t>(what) << number_bits | number;
  }
  /// Also the number of an answer.
  HIWAY_DEVICE static constexpr std::uint32_t number(std::uint64_t word) {
    return static_cast<std::uint32_t>(word & 1u);
  }
  HIWAY_DEVICE static constexpr Question what(std::uint64_t word) {
    return static_cast<Question>(word >> number_bits & ((1u << what_bits) - 1u));
  }
  HIWAY_DEVICE static constexpr std::uint32_t unit(std::uint64_t word) {
    return static_cast<std::uint32_t>(word >> (number_bits + what_bits));
  }
};
/// An answer packed into a word.
struct AnswerWord {
  HIWAY_DEVICE static constexpr std::uint64_t pack(std::uint32_t number, std::uint64_t sum) {
    return sum << 1 | number;
  }
  HIWAY_DEVICE static constexpr std::uint64_t sum(std::uint64_t word) { return word >> 1; }
};

/// The words between the checker and a delegate. Each side keeps a copy of its own, with its own state.
struct DelegateWords {
  WordLink question;
  WordLink answer;
  std::uint32_t number = 0;  ///< number of the last question: asked (checker), or answered (delegate)
  std::uint32_t stands = 0;  ///< checker: it has not yet seen the answer to the last question
  std::uint64_t sum = 0;     ///< checker: the sum in the last answer
};

/// Flags a delegate sets once per unit; the checker treats them as gates. Null: nothing of that kind is left to report.
struct UnitNews {
  Word<std::uint32_t>* gates = nullptr;    ///< all of the unit's gates at this device are open
  Word<std::uint32_t>* readers = nullptr;  ///< all blocks that read it here have returned
};

}  // namespace hiway
