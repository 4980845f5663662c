// Letters from a device to the host about its scopes. Slots carry tags (ring/tags.hpp R4). A fence before each letter
// releases what the scope's tasks have written, also to the host.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hiway/fault.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/scope/table.hpp"

namespace hiway::detail {

/// Waits until the letter of `ticket` has room. That is never long: the reader waits for nothing.
template <class Machine, class Mail>
HIWAY_DEVICE inline void await_mail_room(Machine m, Mail& mail, Control& control, std::uint64_t ticket) {
  for (unsigned misses = 0; ticket >= m.load(mail.seen_as_read, MemoryOrder::acquire) + Mail::slot_count; ++misses) {
    std::uint64_t const read = m.load_across(*mail.read, MemoryOrder::acquire);
    m.store(mail.seen_as_read, read, MemoryOrder::release);  // hands on what the lane has acquired
    if (ticket < read + Mail::slot_count) return;
    leave_if_aborted(m, control);
    m.relax(misses);
  }
}

/// Takes the next ticket, and waits for its room.
template <class Machine, class Mail>
[[nodiscard]] HIWAY_DEVICE inline std::uint64_t take_mail_ticket(Machine m, Mail& mail, Control& control) {
  std::uint64_t const ticket = m.fetch_add(mail.tickets, std::uint64_t{1}, MemoryOrder::acq_rel);
  await_mail_room(m, mail, control, ticket);
  return ticket;
}
template <class Machine, class Mail>
HIWAY_DEVICE inline void send_letter(Machine m, Mail& mail, std::uint64_t ticket, std::uint32_t place,
                                     std::uint64_t value) {
  ScopeLetter const letter{place, static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)};
  TaggedSlot slot{};
  memcpy(slot.item, &letter, sizeof letter);
  slot.tag.bits = Mail::tag_of(ticket);
  m.fence_across();
  m.put_tagged(mail.letter(ticket), slot);
}

/// Tells the host that `value` of the scope is given back. Letters of one device arrive in the order of their tickets.
template <class Machine, class Mail>
HIWAY_DEVICE inline void mail_value(Machine m, Mail& mail, Control& control, std::uint32_t place, std::uint64_t value) {
  send_letter(m, mail, take_mail_ticket(m, mail, control), place, value);
}
/// Tells the host that the scope has failed. The letter brings `value`, so that the scope does not end before it.
template <class Machine, class Mail>
HIWAY_DEVICE inline void mail_failure(Machine m, Mail& mail, Control& control, std::uint32_t place, std::uint64_t value,
                                      char const* message) {
  std::uint64_t const ticket = take_mail_ticket(m, mail, control);
  copy_message(mail.text(ticket).text, message);
  send_letter(m, mail, ticket, place, letter_of_failure | value);
}

/// Reads the letters that have come, `f(place, value, text)` each; returns how many. Some at once, of which
/// `expect(place)` comes first. *Threads*: one at a time.
template <class Machine, class Mail, class Expect, class F>
std::uint64_t read_letters(Machine m, Mail& mail, std::uint64_t first, Expect&& expect, F&& f) {
  std::array<ScopeLetter, 16> letters;
  for (std::uint64_t ticket = first;;) {
    std::size_t n = 0;
    for (; n < letters.size() && m.load(mail.letter(ticket + n).tag, MemoryOrder::acquire) == Mail::tag_of(ticket + n);
         ++n) {
      std::memcpy(&letters[n], mail.letter(ticket + n).item, sizeof(ScopeLetter));
      expect(letters[n].place);
    }
    if (n == 0) return ticket - first;
    for (std::size_t i = 0; i < n; ++i, ++ticket)
      f(letters[i].place, std::uint64_t{letters[i].value_high} << 32 | letters[i].value_low, mail.text(ticket).text);
    m.store(*mail.read, ticket, MemoryOrder::release);
  }
}

}  // namespace hiway::detail
