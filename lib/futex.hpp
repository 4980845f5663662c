// Sleeping until a word changes: std::atomic::wait without the yields that it begins with. A yield may take
// milliseconds where other programs compute (docs/adr/0046).
#pragma once
#include <atomic>
#include <cstdint>

namespace hiway {

/// *Waits* until the word is not `value`; acquires it.
void sleep_while(std::atomic<std::uint32_t> const& word, std::uint32_t value) noexcept;
/// Wake threads that sleep by the word, after it was changed.
void wake_one(std::atomic<std::uint32_t>& word) noexcept;
void wake_all(std::atomic<std::uint32_t>& word) noexcept;

}  // namespace hiway
