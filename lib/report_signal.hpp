// The signal that asks runs for a report, SIGUSR1; hiway/report.hpp has take_report_signal().
#pragma once

namespace hiway {

/// How a report begins for which the signal has asked.
constexpr char const* asked_by_signal = "asked by SIGUSR1";

/// How often the signal has come since take_report_signal(). *Threads*: any.
[[nodiscard]] unsigned report_signals() noexcept;

}  // namespace hiway
