#include "lib/nodes/ucx/introduction.hpp"

#include "hiway/error.hpp"
#include "lib/nodes/hello.hpp"
#include "lib/nodes/node_name.hpp"

namespace hiway::detail::nodes {
namespace {

// Numbers are pairs of words of 32 bits; bytes come after their number.
class Writer {
 public:
  void number(std::uint64_t n) {
    bytes_.resize(bytes_.size() + 8);
    put_word(&bytes_[bytes_.size() - 8], static_cast<std::uint32_t>(n));
    put_word(&bytes_[bytes_.size() - 4], static_cast<std::uint32_t>(n >> 32));
  }
  void bytes(Bytes const& more) {
    number(more.size());
    bytes_.insert(bytes_.end(), more.begin(), more.end());
  }
  [[nodiscard]] Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

class Reader {
 public:
  Reader(std::span<std::byte const> bytes, int node) : left_(bytes), node_(node) {}

  std::uint64_t number() {
    std::span<std::byte const> const at = next(8);
    return get_word(at.data()) | std::uint64_t{get_word(at.data() + 4)} << 32;
  }
  Bytes bytes() {
    std::span<std::byte const> const at = next(number());
    return {at.begin(), at.end()};
  }
  [[noreturn]] void fail() const { throw Error(name_of_node(node_) + ": what it tells of its memory makes no sense"); }
  void end() const {
    if (!left_.empty()) fail();
  }

 private:
  std::span<std::byte const> next(std::uint64_t count) {
    if (count > left_.size()) fail();
    std::span<std::byte const> const at = left_.first(count);
    left_ = left_.subspan(count);
    return at;
  }

  std::span<std::byte const> left_;
  int node_;
};

}  // namespace

Bytes bytes_of(Introduction const& introduction) {
  Writer writer;
  writer.bytes(introduction.worker);
  writer.number(introduction.regions.size());
  for (Introduction::Region const& region : introduction.regions) {
    writer.number(region.address);
    writer.number(region.bytes);
    writer.bytes(region.key);
  }
  return writer.take();
}

Introduction introduction_of(std::span<std::byte const> bytes, int node) {
  Reader reader(bytes, node);
  Introduction introduction{reader.bytes(), {}};
  for (std::uint64_t left = reader.number(); left != 0; --left) {
    Introduction::Region region;
    region.address = reader.number();
    region.bytes = reader.number();
    region.key = reader.bytes();
    if (region.key.empty()) reader.fail();
    introduction.regions.push_back(std::move(region));
  }
  if (introduction.worker.empty()) reader.fail();
  reader.end();
  return introduction;
}

}  // namespace hiway::detail::nodes
