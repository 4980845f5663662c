// HostArray: CPU memory that a method copies from or to.
#pragma once
#include <algorithm>
#include <cstddef>
#include <hiway/pipeline.hpp>
#include <span>
#include <vector>

namespace cli {

/// `count` elements of ordinary memory, as the authors of the baselines copy from, or of pinned memory. *Lifetime*: not
/// longer than the pipeline's.
template <class T>
class HostArray {
 public:
  HostArray(hiway::Pipeline& pipe, std::size_t count, bool pinned)
      : own_(pinned ? 0 : count), all_(pinned ? pipe.create_host_buffer<T>(count) : std::span<T>(own_)) {}
  HostArray(HostArray const&) = delete;
  HostArray& operator=(HostArray const&) = delete;

  [[nodiscard]] std::span<T> all() const { return all_; }

 private:
  std::vector<T> own_;
  std::span<T> all_;
};

/// What a method copies from that reads `all`: itself, or a copy of it in pinned memory. *Lifetime*: not longer than the
/// pipeline's and `all`'s.
template <class T>
[[nodiscard]] std::span<T const> copied_from(hiway::Pipeline& pipe, std::span<T const> all, bool pinned) {
  if (!pinned) return all;
  std::span<T> const copy = pipe.create_host_buffer<T>(all.size());
  std::ranges::copy(all, copy.begin());
  return copy;
}

}  // namespace cli
