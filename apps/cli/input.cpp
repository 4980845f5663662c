#include "cli/input.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "cli/bad_input.hpp"

namespace cli {

std::vector<std::uint8_t> read_whole(std::string const& path, std::size_t most_bytes,
                                     std::function<void(std::span<std::uint8_t const>)> const& check_begin) {
  auto const fail = [&](std::string const& what) { throw BadInput{path + ": " + what}; };
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  errno = 0;
  std::unique_ptr<std::FILE, Close> const file{std::fopen(path.c_str(), "rb")};
  if (file == nullptr) fail(std::string{"cannot be opened: "} + std::strerror(errno));
  std::vector<std::uint8_t> bytes;
  for (std::size_t got = 1; got > 0;) {
    std::size_t const before = bytes.size();
    bytes.resize(before + (std::size_t{1} << 18));
    got = std::fread(bytes.data() + before, 1, bytes.size() - before, file.get());
    bytes.resize(before + got);
    if (std::ferror(file.get()) != 0) fail(std::string{"cannot be read: "} + std::strerror(errno));
    if (before == 0 && got > 0) check_begin(bytes);
    if (bytes.size() > most_bytes) fail("larger than " + std::to_string(most_bytes) + " bytes");
  }
  if (bytes.empty()) fail("empty");
  return bytes;
}

}  // namespace cli
