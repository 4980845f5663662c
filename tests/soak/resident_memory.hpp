// What of the process lies in memory.
#pragma once
#include <malloc.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <ostream>
#include <string>

namespace hiway_tests {

namespace detail {

/// Whether a line of /proc/self/smaps begins a mapping, and one of malloc's heaps: the first one, or one of those for
/// other threads, which glibc places at multiples of 64 MiB. The line: `FROM-TO rw-p OFFSET DEVICE INODE NAME`.
inline bool begins_mapping(std::string const& line, bool& of_malloc) {
  std::uint64_t from = 0;
  auto const [end, error] = std::from_chars(line.data(), line.data() + line.size(), from, 16);
  if (error != std::errc{} || *end != '-') return false;
  bool const private_data = line.find(" rw-p ") != std::string::npos;
  bool const without_a_name = line.back() == ' ' || line.find('/') == std::string::npos;
  of_malloc = line.ends_with("[heap]") || (private_data && without_a_name && from % (std::uint64_t{64} << 20) == 0);
  return true;
}

}  // namespace detail

/// Of the process, in bytes. What malloc holds for later grows with the order in which threads come and go, whoever
/// gives back what they took; so it is apart.
struct Memory {
  std::int64_t resident = 0;  ///< in all
  std::int64_t of_heaps = 0;  ///< of these, in malloc's heaps
  std::int64_t in_use = 0;    ///< what malloc has given and not got back

  static Memory now() {
    malloc_trim(0);
    Memory m;
    m.in_use = static_cast<std::int64_t>(mallinfo2().uordblks);
    std::ifstream mappings("/proc/self/smaps");
    bool of_malloc = false;
    for (std::string line; std::getline(mappings, line);) {
      if (line.empty() || detail::begins_mapping(line, of_malloc) || !line.starts_with("Rss:")) continue;
      std::int64_t const bytes = std::strtoll(line.c_str() + std::strlen("Rss:"), nullptr, 10) * 1024;
      m.resident += bytes;
      if (of_malloc) m.of_heaps += bytes;
    }
    return m;
  }
  [[nodiscard]] std::int64_t outside_heaps() const { return resident - of_heaps; }
  friend std::ostream& operator<<(std::ostream& out, Memory const& m) {
    return out << m.resident / 1024 << " KiB resident, " << m.outside_heaps() / 1024 << " of them outside heaps, "
               << m.in_use / 1024 << " KiB in use";
  }
};

}  // namespace hiway_tests
