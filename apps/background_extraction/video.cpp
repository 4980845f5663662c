#include "background_extraction/video.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <iomanip>
#include <sstream>
#include <system_error>

#include "cli/bad_input.hpp"
#include "cli/hash.hpp"
#include "cli/text.hpp"
#include "face_detection/image.hpp"

namespace background_extraction {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t most_side = 65536;
constexpr std::uint32_t most_frames = 1U << 20;
constexpr double most_bytes = 32.0 * (1U << 30);

std::string in_gib(double bytes) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << bytes / (1U << 30) << " GiB";
  return text.str();
}
/// `where` is the options or the folder that ask for so much.
void require_room(std::string const& where, double width, double height, double channels, double frames) {
  double const bytes = 2 * width * height * channels * frames;
  if (bytes > most_bytes)
    throw cli::BadInput{where + ": frames and foregrounds would need " + in_gib(bytes) + " of memory, more than " +
                        in_gib(most_bytes)};
}

std::uint32_t strips_of(std::size_t bytes) {
  return static_cast<std::uint32_t>((bytes + Strip::bytes - 1) / Strip::bytes);
}

/// Numbers that look random: splitmix64.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return cli::mixed(state_ += cli::mixed_step); }

 private:
  std::uint64_t state_;
};

/// What moves: begins somewhere, goes on by the same step from frame to frame, and comes in again where it went out.
struct Mover {
  std::array<std::uint32_t, 2> at;
  std::array<std::uint32_t, 2> step;
  std::array<std::uint8_t, 3> colour;
};

Video make(VideoOptions const& o, std::uint64_t seed) {
  constexpr std::uint32_t channels = 3;
  Video video{o.width, o.height, channels, o.frames};
  Numbers numbers{seed};
  // Blocks of 8 x 8 pixels on a slope.
  std::vector<std::uint8_t> scene(video.frame_bytes());
  std::uint32_t const blocks = o.width / 8 + 1;
  std::vector<std::uint64_t> block_of_row(blocks);
  for (std::uint32_t y = 0; y < o.height; ++y) {
    if (y % 8 == 0) std::ranges::generate(block_of_row, [&] { return numbers.next(); });
    for (std::uint32_t x = 0; x < o.width; ++x) {
      for (std::uint32_t c = 0; c < channels; ++c)
        scene[(std::size_t{y} * o.width + x) * channels + c] = static_cast<std::uint8_t>(
            32 + (block_of_row[x / 8] >> 8 * c & 63) + (x + 2 * y) * 64 / (o.width + 2 * o.height));
    }
  }
  std::array<Mover, 3> movers{};
  for (Mover& m : movers) {
    std::uint64_t const n = numbers.next();
    m.at = {static_cast<std::uint32_t>(n % o.width), static_cast<std::uint32_t>((n >> 32) % o.height)};
    m.step = {o.width / 40 + 1 + static_cast<std::uint32_t>(n >> 60), o.height / 60 + 1};
    m.colour = {static_cast<std::uint8_t>(n | 128), static_cast<std::uint8_t>(n >> 8 | 64),
                static_cast<std::uint8_t>(n >> 16)};
  }
  std::uint32_t const wide = o.width / 6 + 1;
  std::uint32_t const high = o.height / 4 + 1;
  std::vector<std::uint8_t> frame(scene.size());
  for (std::uint32_t f = 0; f < o.frames; ++f) {
    std::uint64_t noise = 0;
    for (std::size_t i = 0; i < frame.size(); ++i, noise >>= 4) {
      if (i % 16 == 0) noise = numbers.next();
      frame[i] = static_cast<std::uint8_t>(scene[i] + (noise & 3));
    }
    for (Mover& m : movers) {
      std::uint32_t const right = std::min(o.width, m.at[0] + wide);
      std::uint32_t const bottom = std::min(o.height, m.at[1] + high);
      for (std::uint32_t y = m.at[1]; y < bottom; ++y) {
        for (std::uint32_t x = m.at[0]; x < right; ++x)
          std::ranges::copy(m.colour,
                            frame.begin() + static_cast<std::ptrdiff_t>((std::size_t{y} * o.width + x) * channels));
      }
      m.at = {(m.at[0] + m.step[0]) % o.width, (m.at[1] + m.step[1]) % o.height};
    }
    video.set(f, frame);
  }
  return video;
}

/// The folder's pictures, in the order of their names.
std::vector<fs::path> pictures_in(std::string const& folder) {
  std::vector<fs::path> pictures;
  std::error_code error;
  for (fs::directory_iterator entry{folder, error}, end; !error && entry != end; entry.increment(error)) {
    std::string const name = entry->path().string();
    if (cli::has_ending(name, ".pgm") || cli::has_ending(name, ".ppm")) pictures.push_back(entry->path());
  }
  if (error) throw cli::BadInput{folder + ": cannot be read: " + error.message()};
  if (pictures.empty()) throw cli::BadInput{folder + ": no file named .pgm or .ppm"};
  std::ranges::sort(pictures);
  return pictures;
}

Video read(std::string const& folder) {
  std::vector<fs::path> const pictures = pictures_in(folder);
  face_detection::Samples picture = face_detection::read_samples(pictures.front().string());
  auto const shape = [](face_detection::Samples const& p) {
    return std::to_string(p.width) + " x " + std::to_string(p.height) + (p.channels == 1 ? ", grey" : ", in colours");
  };
  std::string const first = shape(picture);
  require_room(folder, picture.width, picture.height, picture.channels, static_cast<double>(pictures.size()));
  Video video{static_cast<std::uint32_t>(picture.width), static_cast<std::uint32_t>(picture.height),
              static_cast<std::uint32_t>(picture.channels), static_cast<std::uint32_t>(pictures.size())};
  video.set(0, picture.bytes);
  for (std::uint32_t f = 1; f < video.frames(); ++f) {
    picture = face_detection::read_samples(pictures[f].string());
    if (shape(picture) != first)
      throw cli::BadInput{pictures[f].string() + ": " + shape(picture) + ", not " + first + " like " +
                          pictures.front().filename().string()};
    video.set(f, picture.bytes);
  }
  return video;
}

}  // namespace

Video::Video(std::uint32_t width, std::uint32_t height, std::uint32_t channels, std::uint32_t frames)
    : width_(width),
      height_(height),
      channels_(channels),
      frames_(frames),
      strips_(strips_of(frame_bytes())),
      all_(std::size_t{frames} * strips_) {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    all_[i].frame = static_cast<std::uint32_t>(i / strips_);
    all_[i].place = static_cast<std::uint32_t>(i % strips_);
  }
}

void Video::set(std::uint32_t f, std::span<std::uint8_t const> bytes) {
  for (Strip& strip : std::span{all_}.subspan(std::size_t{f} * strips_, strips_)) {
    std::size_t const some = std::min<std::size_t>(bytes.size(), Strip::bytes);
    std::memcpy(strip.contents, bytes.data(), some);
    bytes = bytes.subspan(some);
  }
}

std::vector<std::uint8_t> bytes_of(std::span<Strip const> frame, std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  for (std::size_t done = 0; Strip const& strip : frame) {
    std::size_t const some = std::min<std::size_t>(count - done, Strip::bytes);
    std::memcpy(bytes.data() + done, strip.contents, some);
    done += some;
  }
  return bytes;
}

Video make_video(VideoOptions const& options, std::uint64_t seed) {
  if (!options.folder.empty()) return read(options.folder);
  auto const require = [](std::string const& name, std::uint32_t value, std::uint32_t most) {
    if (value < 1 || value > most)
      throw cli::BadInput{name + " must be 1 to " + std::to_string(most) + ": " + std::to_string(value)};
  };
  require("--width", options.width, most_side);
  require("--height", options.height, most_side);
  require("--frames", options.frames, most_frames);
  require_room("--width, --height, --frames", options.width, options.height, 3, options.frames);
  return make(options, seed);
}

std::string encode_pnm(Video const& video, std::span<std::uint8_t const> bytes) {
  std::string file = (video.channels() == 1 ? "P5\n" : "P6\n") + std::to_string(video.width()) + " " +
                     std::to_string(video.height()) + "\n255\n";
  file.append(bytes.begin(), bytes.end());
  return file;
}

}  // namespace background_extraction
