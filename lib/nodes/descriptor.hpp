// Descriptor: owns one of the system's file descriptors.
#pragma once
#include <unistd.h>

#include <utility>

namespace hiway::detail::nodes {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  Descriptor(Descriptor const&) = delete;
  Descriptor& operator=(Descriptor const&) = delete;

  /// -1: there is none.
  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] explicit operator bool() const noexcept { return number_ >= 0; }

 private:
  void close() noexcept {
    if (number_ >= 0) ::close(number_);
  }

  int number_ = -1;
};

}  // namespace hiway::detail::nodes
