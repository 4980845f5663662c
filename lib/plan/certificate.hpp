// Certificate: a proof as text, which anybody can check: tests/plan/check_certificate.py does, and shares nothing with the
// planner.
#pragma once
#include <string>
#include <string_view>

#include "hiway/plan/program.hpp"
#include "lib/plan/model.hpp"
#include "lib/plan/prove.hpp"

namespace hiway::plan {

/// JSON. A polynomial is an object {"N*k": "1/2", "": "-1"}: factors of products of variables; a second task's variables
/// end in '.
[[nodiscard]] std::string certificate_of(Program const& program, Model const& model, Proven const& proven,
                                         std::size_t symbols, std::int64_t least);

/// Multiplies out every proof of the text: "" when each is what it claims, else what is not. Shares nothing with what made
/// it but the reader of JSON. *Throws* ConfigError where the text is no certificate.
[[nodiscard]] std::string fault_of(std::string_view certificate);

}  // namespace hiway::plan
