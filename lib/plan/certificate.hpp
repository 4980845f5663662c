// Certificate: a proof as text, for independent checks. tests/plan/check_certificate.py checks it and shares nothing
// with the planner.
#pragma once
#include <string>
#include <string_view>

#include "hiway/plan/program.hpp"
#include "lib/plan/model.hpp"
#include "lib/plan/prove.hpp"

namespace hiway::plan {

/// JSON. A polynomial is an object {"N*k": "1/2", "": "-1"}: products of variables and their factors. A second task's
/// variables end in '.
[[nodiscard]] std::string certificate_of(Program const& program, Model const& model, Proven const& proven,
                                         std::size_t symbols, std::int64_t least);

/// Multiplies out every proof of the text: "" if each shows what it claims, else which one does not. Shares nothing
/// with the code that made the text but the reader of JSON. *Throws* ConfigError if the text is no certificate.
[[nodiscard]] std::string fault_of(std::string_view certificate);

}  // namespace hiway::plan
