#include "arena.hpp"

#include <algorithm>

namespace hiway {
namespace {

constexpr std::align_val_t image_alignment{1024};

void free_image(std::byte* image) { ::operator delete(image, image_alignment); }

}  // namespace

Arena::~Arena() {
  for (Chunk& chunk : chunks_) backend_.release(memory_, chunk.home);
}

/// Allocates the chunk's memory at home.
std::vector<Arena::Chunk>::iterator Arena::add(Chunk chunk, std::string_view what) {
  chunks_.push_back(std::move(chunk));
  try {
    chunks_.back().home = static_cast<std::byte*>(backend_.allocate(memory_, chunks_.back().bytes, what));
  } catch (...) {
    chunks_.pop_back();
    throw;
  }
  return chunks_.end() - 1;
}

// Offsets are aligned within a chunk. CUDA aligns a chunk itself to 256 bytes only. So a ring's words may start at an
// address that is no multiple of 1 KB, but they are 1 KB apart, which is what counts.
Arena::Place Arena::take(std::size_t bytes, std::size_t alignment) {
  auto const aligned = [alignment](std::size_t n) { return (n + alignment - 1) / alignment * alignment; };
  auto fits = [&](Chunk const& c) { return c.image && aligned(c.used) + bytes <= c.bytes; };
  auto chunk = std::find_if(chunks_.begin(), chunks_.end(), fits);
  if (chunk == chunks_.end()) {
    std::size_t const size = std::max(bytes, chunk_bytes);
    auto* const image = static_cast<std::byte*>(take_memory(size, image_alignment, what_));
    std::memset(image, 0, size);
    std::unique_ptr<std::byte[], void (*)(std::byte*)> owned(image, &free_image);
    chunk = add({nullptr, size, 0, std::move(owned), false}, what_);
    if (memory_ != Memory::device) std::memset(chunk->home, 0, size);  // words may be read before the first reset
  }
  std::size_t const offset = aligned(chunk->used);
  chunk->used = offset + bytes;
  return {chunk->home + offset, chunk->image.get() + offset};
}

std::byte* Arena::take_zeros(std::size_t bytes, std::string_view what) {
  if (bytes <= chunk_bytes / 4) return take(bytes, 256).home;
  return add({nullptr, bytes, bytes, {nullptr, &free_image}, true}, what)->home;
}

std::byte* Arena::place_raw(std::size_t bytes, std::string_view what) {
  return add({nullptr, bytes, bytes, {nullptr, &free_image}, false}, what)->home;
}

std::byte* Arena::image_of(std::byte* placed) {
  for (Chunk& chunk : chunks_) {
    if (chunk.image && placed >= chunk.home && placed < chunk.home + chunk.used)
      return chunk.image.get() + (placed - chunk.home);
  }
  throw std::logic_error("arena: not an object of this arena");
}

std::vector<std::span<std::byte const>> Arena::words() const {
  std::vector<std::span<std::byte const>> all;
  for (Chunk const& chunk : chunks_) {
    if (chunk.image) all.emplace_back(chunk.home, chunk.used);
  }
  return all;
}

void Arena::reset() {
  for (Chunk& chunk : chunks_) {
    if (memory_ == Memory::device) {
      if (chunk.image) backend_.begin_upload(chunk.home, chunk.image.get(), chunk.used);
      if (chunk.zeros) backend_.begin_clear(chunk.home, chunk.bytes);
    } else {
      if (chunk.image) std::memcpy(chunk.home, chunk.image.get(), chunk.used);
      if (chunk.zeros) std::memset(chunk.home, 0, chunk.bytes);
    }
  }
}

}  // namespace hiway
