// Video: frames of bytes, cut into strips, which are what is worked on and carried at once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace background_extraction {

/// What a lane loads and stores at once, and its means likewise.
struct alignas(4) Pack {
  std::uint8_t bytes[4];
};

/// A piece of a frame, of 16 KiB: enough that what a claim and a hand-over cost is little, and so little that one warp is soon
/// done with it, for the next frame's strip of the same place waits for it. Behind a frame's last byte there are zeros.
struct Strip {
  static constexpr std::uint32_t packs = 4094;
  static constexpr std::uint32_t bytes = packs * sizeof(Pack);
  std::uint32_t frame;
  std::uint32_t place;  ///< number in its frame
  Pack contents[packs];
};
static_assert(sizeof(Strip) == 16384);

class Video {
 public:
  /// Black. *Throws* std::bad_alloc.
  Video(std::uint32_t width, std::uint32_t height, std::uint32_t channels, std::uint32_t frames);

  [[nodiscard]] std::uint32_t width() const { return width_; }
  [[nodiscard]] std::uint32_t height() const { return height_; }
  [[nodiscard]] std::uint32_t channels() const { return channels_; }
  [[nodiscard]] std::uint32_t frames() const { return frames_; }
  [[nodiscard]] std::uint32_t strips() const { return strips_; }  ///< of a frame
  [[nodiscard]] std::size_t frame_bytes() const { return std::size_t{width_} * height_ * channels_; }

  /// *Lifetime*: the video's.
  [[nodiscard]] std::span<Strip const> frame(std::uint32_t f) const {
    return std::span{all_}.subspan(std::size_t{f} * strips_, strips_);
  }
  /// The places of frame `f` that are thread number `thread` of `threads`': the same ones in every frame.
  [[nodiscard]] std::span<Strip const> frame(std::uint32_t f, unsigned thread, unsigned threads) const {
    std::size_t const first = std::size_t{strips_} * thread / threads;
    return frame(f).subspan(first, std::size_t{strips_} * (thread + 1) / threads - first);
  }
  /// Sets frame `f` to `bytes`, frame_bytes() of them.
  void set(std::uint32_t f, std::span<std::uint8_t const> bytes);

 private:
  std::uint32_t width_;
  std::uint32_t height_;
  std::uint32_t channels_;
  std::uint32_t frames_;
  std::uint32_t strips_;
  std::vector<Strip> all_;
};

/// The bytes of a frame that lies in strips.
[[nodiscard]] std::vector<std::uint8_t> bytes_of(std::span<Strip const> frame, std::size_t count);

struct VideoOptions {
  std::uint32_t width = 160;
  std::uint32_t height = 90;
  std::uint32_t frames = 8;
  std::string folder{};  ///< where frames are read from; empty: they are made
};

/// Makes a video, in colours: a still textured scene, rectangles that move over it, a bit of noise; or reads the PGM and PPM
/// files of a folder (.pgm, .ppm, in upper or lower case), in the order of their names.
/// *Throws* cli::BadInput in one line: nothing to see, more than the methods should keep, a folder that cannot be read or has no
/// frames, a file that cannot be read as a picture, or is of another size or kind than the first.
[[nodiscard]] Video make_video(VideoOptions const& options, std::uint64_t seed);

/// A picture as a file's bytes: PGM for one channel, PPM for three.
[[nodiscard]] std::string encode_pnm(Video const& video, std::span<std::uint8_t const> bytes);

}  // namespace background_extraction
