// Bytes: numbers of them, as users write them.
#pragma once
#include <cstdint>
#include <string>

namespace cli {

/// 64, 64B or 64KiB; kB, MB and GB are powers of 1000, KiB, MiB, GiB and TiB powers of 1024. *Throws* BadInput that names the
/// option.
std::int64_t parse_bytes(std::string const& option, std::string const& text);

}  // namespace cli
