#include "end_news.hpp"

#include "hiway/log.hpp"
#include "lib/named_failure.hpp"

namespace hiway {

void EndNews::tell(std::exception_ptr const& error) const noexcept {
  try {
    on_end_(error);
  } catch (...) {
    try {
      log(LogLevel::warning, "on_end: its function has thrown, which is dropped: " + what_of(std::current_exception()));
    } catch (...) {  // there is no memory for the message
    }
  }
}

}  // namespace hiway
