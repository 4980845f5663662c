#include "lib/nodes/line/line_mail.hpp"

#include "hiway/machine/thread_machine.hpp"

namespace hiway::detail::nodes {

void LineMail::look() {
  if (completed_ != submitted_) completed_ = copies_->completed();
}

bool LineMail::send() {
  if (rows_.empty() && words_.empty()) return false;
  if (copies_) {
    submitted_ = copies_->submit(rows_, words_);
  } else {
    ThreadMachine const m;
    for (WordCopy const& w : words_) m.store(*w.word, w.value, MemoryOrder::release);
    completed_ = ++submitted_;
  }
  drop();
  return true;
}

void LineMail::drop() noexcept {
  rows_.clear();
  words_.clear();
}

}  // namespace hiway::detail::nodes
