#include "face_detection/image.hpp"

#include <png.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "cli/bad_input.hpp"
#include "cli/input.hpp"
#include "face_detection/built_in.hpp"
#include "picture/picture.hpp"

namespace face_detection {
namespace {

using Bytes = std::vector<std::uint8_t>;

[[noreturn]] void fail(std::string const& path, std::string const& what) { throw cli::BadInput{path + ": " + what}; }

/// No picture within the limits needs more, not even one that a PNG does not make smaller.
constexpr std::size_t max_file_bytes = std::size_t{1} << 30;

void require_size(std::string const& path, std::int64_t width, std::int64_t height) {
  std::string const size = std::to_string(width) + " x " + std::to_string(height);
  if (width < 1 || height < 1) fail(path, size + ": no pixels");
  if (width > max_side || height > max_side)
    fail(path, size + ": wider or higher than " + std::to_string(max_side) + " pixels");
  if (width * height > max_pixels) fail(path, size + ": more than " + std::to_string(max_pixels) + " pixels");
}

// ---- PGM and PPM

/// The numbers of a PGM's or PPM's header; space and comments go before each.
class Header {
 public:
  Header(std::string const& path, Bytes const& bytes) : path_(path), bytes_(bytes) {}

  std::int64_t number(std::string const& name) {
    for (bool comment = false; at_ < bytes_.size(); ++at_) {
      comment = comment ? !ends_line(bytes_[at_]) : bytes_[at_] == '#';
      if (!comment && !is_space(bytes_[at_])) break;
    }
    if (at_ == bytes_.size()) fail(path_, "cut short in the header, before the " + name);
    if (!is_digit(bytes_[at_])) fail(path_, "the header's " + name + " is not a number");
    std::int64_t value = 0;
    for (; at_ < bytes_.size() && is_digit(bytes_[at_]); ++at_) {
      value = value * 10 + (bytes_[at_] - '0');
      if (value > 1'000'000'000) fail(path_, "the header's " + name + " is larger than 1000000000");
    }
    return value;
  }

  /// The offset of the pixels in bytes: after the last number, its comment if one follows at once, and one space. A
  /// header whose lines end with \r\n has two, which only the file's length can tell.
  std::size_t end(std::size_t pixel_bytes) {
    if (at_ < bytes_.size() && bytes_[at_] == '#') {
      while (at_ < bytes_.size() && !ends_line(bytes_[at_])) ++at_;
    }
    if (at_ == bytes_.size()) fail(path_, "cut short behind the header");
    if (!is_space(bytes_[at_])) fail(path_, "no space between header and pixels");
    bool const two = bytes_[at_] == '\r' && at_ + 1 < bytes_.size() && bytes_[at_ + 1] == '\n';
    return two && bytes_.size() - at_ - 2 == pixel_bytes ? at_ + 2 : at_ + 1;
  }

 private:
  static bool is_space(std::uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  static bool ends_line(std::uint8_t c) { return c == '\n' || c == '\r'; }
  static bool is_digit(std::uint8_t c) { return c >= '0' && c <= '9'; }

  std::string const& path_;
  Bytes const& bytes_;
  std::size_t at_ = 2;  // behind the magic
};

bool is_pnm(std::span<std::uint8_t const> bytes) {
  return bytes.size() >= 2 && bytes[0] == 'P' && (bytes[1] == '5' || bytes[1] == '6');
}

Samples read_pnm(std::string const& path, Bytes const& bytes) {
  std::int32_t const channels = bytes[1] == '6' ? 3 : 1;
  Header header{path, bytes};
  std::int64_t const width = header.number("width");
  std::int64_t const height = header.number("height");
  require_size(path, width, height);
  std::int64_t const maxval = header.number("maxval");
  if (maxval != 255) fail(path, "maxval " + std::to_string(maxval) + ": only 255 is read");
  std::size_t const samples = static_cast<std::size_t>(width * height * channels);
  std::size_t const begin = header.end(samples);
  std::size_t const there = bytes.size() - begin;
  if (there != samples)
    fail(path, (there < samples ? "cut short: " : "more than one picture: ") + std::to_string(there) +
                   " bytes of pixels, not " + std::to_string(samples));
  std::uint8_t const* const from = bytes.data() + begin;
  return {static_cast<std::int32_t>(width), static_cast<std::int32_t>(height), channels, {from, from + samples}};
}

Image in_grey(Samples&& picture) {
  if (picture.channels == 1) return {picture.width, picture.height, std::move(picture.bytes)};
  Image image{picture.width, picture.height, std::vector<std::uint8_t>(picture.bytes.size() / 3)};
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = grey(picture.bytes[3 * i], picture.bytes[3 * i + 1], picture.bytes[3 * i + 2]);
  return image;
}

// ---- PNG

constexpr std::array<std::uint8_t, 8> png_signature{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

std::uint32_t big_endian(std::uint8_t const* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

/// libpng stops behind the last pixel, and takes a file without its end: every chunk is looked at here.
void require_whole_chunks(std::string const& path, Bytes const& bytes) {
  std::size_t at = png_signature.size();
  for (;;) {
    if (bytes.size() - at < 12) fail(path, "cut short: PNG without its end");
    std::uint8_t const* const chunk = bytes.data() + at;
    std::size_t const length = big_endian(chunk);
    if (length > bytes.size() - at - 12)
      fail(path, "cut short, or damaged, in the PNG chunk at byte " + std::to_string(at));
    auto const sum = crc32_z(0, chunk + 4, length + 4);
    if (sum != big_endian(chunk + 8 + length))
      fail(path, "damaged: wrong checksum of the PNG chunk at byte " + std::to_string(at));
    if (std::memcmp(chunk + 4, "IEND", 4) == 0) return;
    at += length + 12;
  }
}

/// libpng's own control block, freed on every way out.
class PngImage {
 public:
  PngImage() { image_.version = PNG_IMAGE_VERSION; }
  ~PngImage() { png_image_free(&image_); }
  PngImage(PngImage const&) = delete;
  PngImage& operator=(PngImage const&) = delete;
  png_image* operator->() { return &image_; }
  png_image* get() { return &image_; }

 private:
  png_image image_{};
};

Image read_png(std::string const& path, Bytes const& bytes) {
  require_whole_chunks(path, bytes);
  PngImage png;
  if (png_image_begin_read_from_memory(png.get(), bytes.data(), bytes.size()) == 0)
    fail(path, std::string{"not a PNG that can be read: "} + png->message);
  require_size(path, png->width, png->height);
  bool const has_colours = (png->format & PNG_FORMAT_FLAG_COLOR) != 0;
  // With the transparency asked for, libpng does not blend it with a background.
  png->format = has_colours ? PNG_FORMAT_RGBA : PNG_FORMAT_GA;
  png->flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  std::size_t const pixels = std::size_t{png->width} * png->height;
  std::size_t const samples = has_colours ? 4 : 2;
  Image image{static_cast<std::int32_t>(png->width), static_cast<std::int32_t>(png->height), {}};
  std::vector<std::uint8_t> raw(pixels * samples);
  // A warning is about pixels that are wrong, too.
  if (png_image_finish_read(png.get(), nullptr, raw.data(), 0, nullptr) == 0 || png->warning_or_error != 0)
    fail(path, std::string{"damaged PNG: "} + png->message);
  image.pixels.resize(pixels);
  for (std::size_t i = 0; i < pixels; ++i) {
    std::uint8_t const* const pixel = raw.data() + i * samples;
    image.pixels[i] = has_colours ? grey(pixel[0], pixel[1], pixel[2]) : pixel[0];
  }
  return image;
}

}  // namespace

namespace {

bool is_png(std::span<std::uint8_t const> bytes) {
  return bytes.size() >= png_signature.size() && std::ranges::equal(png_signature, bytes.first(png_signature.size()));
}

Image read_bytes_of(std::string const& path, Bytes const& bytes) {
  return is_png(bytes) ? read_png(path, bytes) : in_grey(read_pnm(path, bytes));
}

}  // namespace

Samples read_samples(std::string const& path) {
  Bytes const bytes = cli::read_whole(path, max_file_bytes, [&](std::span<std::uint8_t const> begin) {
    if (!is_pnm(begin)) fail(path, "neither a binary PGM (P5), nor a binary PPM (P6)");
  });
  return read_pnm(path, bytes);
}

Image read_image(std::string const& path) {
  Bytes const bytes = cli::read_whole(path, max_file_bytes, [&](std::span<std::uint8_t const> begin) {
    if (!is_pnm(begin) && !is_png(begin)) fail(path, "neither a binary PGM (P5), nor a binary PPM (P6), nor a PNG");
  });
  return read_bytes_of(path, bytes);
}

Image face_image() { return read_bytes_of("the picture that is built in", Bytes(face_pgm.begin(), face_pgm.end())); }

std::string encode_png(Image const& image, std::span<Rectangle const> rectangles) {
  constexpr std::array<std::uint8_t, 3> line_colour{255, 220, 0};
  constexpr std::int32_t line_width = 2;
  std::size_t const pixels = image.pixels.size();
  picture::Picture picture{image.width, image.height, std::vector<std::uint8_t>(pixels * 3)};
  for (std::size_t i = 0; i < pixels; ++i) std::fill_n(picture.rgb.data() + 3 * i, 3, image.pixels[i]);
  auto const fill = [&](std::int64_t left, std::int64_t top, std::int64_t right, std::int64_t bottom) {
    for (std::int64_t y = std::max<std::int64_t>(top, 0); y < std::min<std::int64_t>(bottom, image.height); ++y) {
      for (std::int64_t x = std::max<std::int64_t>(left, 0); x < std::min<std::int64_t>(right, image.width); ++x)
        std::ranges::copy(line_colour, picture.rgb.begin() + (y * image.width + x) * 3);
    }
  };
  for (Rectangle const& r : rectangles) {
    std::int64_t const right = std::int64_t{r.x} + r.width;
    std::int64_t const bottom = std::int64_t{r.y} + r.height;
    fill(r.x, r.y, right, std::min<std::int64_t>(r.y + line_width, bottom));
    fill(r.x, std::max<std::int64_t>(bottom - line_width, r.y), right, bottom);
    fill(r.x, r.y, std::min<std::int64_t>(r.x + line_width, right), bottom);
    fill(std::max<std::int64_t>(right - line_width, r.x), r.y, right, bottom);
  }
  return picture::encode_png(picture);
}

}  // namespace face_detection
