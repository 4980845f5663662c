// WordCopies: the words of a run's devices, as copied through the driver at one moment. Words of the host and of
// emulated devices are read in place.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <ranges>
#include <span>
#include <vector>

#include "hiway/backend.hpp"
#include "hiway/machine/thread_machine.hpp"

namespace hiway {

/// Where words lie: at the host, or at one of the pipeline's devices. Only code at the home may use read-modify-writes
/// on them.
using Home = std::size_t;
inline constexpr Home at_host = 0;
inline constexpr Home own_device = 1;  ///< further devices follow in the order in which stages ask for them

/// *Threads*: once it is filled, any.
class WordCopies {
 public:
  /// Announces words at `home`. Until they are fetched they count as not seen.
  void expect(Home home) {
    devices_.resize(std::max(devices_.size(), home + 1));
    devices_[home].expected = true;
  }
  /// Copies words of device `home` in one go, because each copy takes the bus's whole latency. It may wait for the
  /// driver.
  void fetch(Home home, Backend& backend, std::vector<std::span<std::byte const>> const& spans) {
    expect(home);
    Seen& seen = devices_[home];
    std::vector<Peek> peeks;
    for (std::span<std::byte const> const words : spans) {
      Copied& copied = seen.copied.emplace_back(words.data(), std::vector<std::byte>((words.size() + 3) / 4 * 4));
      peeks.push_back({copied.bytes.data(), copied.home, copied.bytes.size()});
    }
    seen.all = backend.peek(peeks);
  }

  /// The word's value; 0 if it was not seen.
  template <class T>
  [[nodiscard]] T read(Word<T>* word, Home home, MemoryOrder order = MemoryOrder::relaxed) const {
    if (word == nullptr) return T{0};
    return is_copied(home) ? copy(word, home).bits : ThreadMachine{}.load(*word, order);
  }
  /// An object that nothing writes once `ready` is not 0; T{} before that, or if it was not seen.
  template <class T>
  [[nodiscard]] T read_when(Word<std::uint32_t>* ready, T const* object, Home home) const {
    if (read(ready, home, MemoryOrder::acquire) == 0) return T{};
    return is_copied(home) ? copy(object, home) : *object;
  }
  /// True if the words of all expected devices were seen.
  [[nodiscard]] bool devices_seen() const {
    return std::ranges::all_of(devices_, [](Seen const& s) { return !s.expected || s.all; });
  }

 private:
  [[nodiscard]] bool is_copied(Home home) const { return home < devices_.size() && devices_[home].expected; }
  /// From the last copy of it.
  template <class T>
  [[nodiscard]] T copy(T const* object, Home home) const {
    auto const* const at = reinterpret_cast<std::byte const*>(object);
    T value{};
    for (Copied const& c : std::views::reverse(devices_[home].copied)) {
      if (!devices_[home].all || at < c.home || at + sizeof(T) > c.home + c.bytes.size()) continue;
      std::memcpy(&value, c.bytes.data() + (at - c.home), sizeof value);
      break;
    }
    return value;
  }

  struct Copied {
    std::byte const* home;
    std::vector<std::byte> bytes;
  };
  struct Seen {
    bool expected = false;
    bool all = false;
    std::vector<Copied> copied{};
  };

  std::vector<Seen> devices_;  ///< by home
};

}  // namespace hiway
