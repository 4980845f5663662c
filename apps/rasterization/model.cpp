#include "rasterization/model.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <string_view>
#include <system_error>

#include "cli/bad_input.hpp"

namespace rasterization {
namespace {

struct Point {
  double x, y, z;
};

/// Takes the next word off the front of `rest`; empty at the end.
std::string_view next_word(std::string_view& rest) {
  constexpr std::string_view space = " \t\r\v\f";
  rest.remove_prefix(std::min(rest.find_first_not_of(space), rest.size()));
  std::string_view const word = rest.substr(0, rest.find_first_of(space));
  rest.remove_prefix(word.size());
  return word;
}

/// Whether all of `text` is a number of this type.
template <class Number>
bool parse(std::string_view text, Number& number) {
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

class ObjReader {
 public:
  explicit ObjReader(std::string const& path) : path_(path) {}

  Model read() {
    errno = 0;
    std::ifstream file{path_, std::ios::binary};
    if (!file) fail_file(std::string{"cannot be opened: "} + std::strerror(errno));
    for (std::string line; std::getline(file, line);) {
      ++number_;
      std::string_view rest{line};
      std::string_view const kind = next_word(rest);
      if (kind == "v") add_point(rest);
      if (kind == "f") add_face(rest);
    }
    if (file.bad()) fail_file(std::string{"cannot be read: "} + std::strerror(errno));
    if (model_.triangles.empty()) fail_file("no faces (lines 'f')");
    scale();
    return std::move(model_);
  }

 private:
  [[noreturn]] void fail_file(std::string const& what) const { throw cli::BadInput{path_ + ": " + what}; }
  [[noreturn]] void fail(std::string const& what) const { fail_file("line " + std::to_string(number_) + ": " + what); }
  /// As it may be shown in one line.
  static std::string shown(std::string_view text) {
    std::string out{text.substr(0, 40)};
    for (char& c : out) {
      if (c < ' ' || c > '~') c = '?';
    }
    return "'" + out + "'";
  }

  void add_point(std::string_view rest) {
    Point p{};
    for (double* const number : {&p.x, &p.y, &p.z}) {
      std::string_view const word = next_word(rest);
      if (word.empty()) fail("a point has three numbers");
      if (!parse(word, *number) || !std::isfinite(*number)) fail("not a number: " + shown(word));
    }
    if (points_.size() == std::numeric_limits<std::int32_t>::max()) fail("too many points");
    points_.push_back(p);
  }

  void add_face(std::string_view rest) {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::size_t corners = 0;
    for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
      std::uint32_t const point = point_of(word);
      if (corners == 0) first = point;
      if (corners >= 2) {
        if (model_.triangles.size() == most_triangles)
          fail("more than " + std::to_string(most_triangles) + " triangles");
        model_.triangles.push_back({{first, last, point}, faces_});
      }
      last = point;
      ++corners;
    }
    if (corners < 3) fail("a face has three corners or more, not " + std::to_string(corners));
    ++faces_;
  }

  std::uint32_t point_of(std::string_view corner) const {
    std::string_view rest = corner;
    std::int64_t number = 0;
    for (int part = 0; part < 3; ++part) {
      std::size_t const slash = rest.find('/');
      std::string_view const text = rest.substr(0, slash);
      std::int64_t of_part = 0;
      bool const may_be_empty = part == 1 && slash != std::string_view::npos;  // v//vn
      if (!(text.empty() && may_be_empty) && (!parse(text, of_part) || of_part == 0))
        fail("not a corner: " + shown(corner));
      if (part == 0) number = of_part;
      if (slash == std::string_view::npos) break;
      if (part == 2) fail("not a corner: " + shown(corner));
      rest.remove_prefix(slash + 1);
    }
    auto const count = static_cast<std::int64_t>(points_.size());
    if (number > count || number < -count)
      fail("point " + std::to_string(number) + " of " + std::to_string(count) + " so far");
    return static_cast<std::uint32_t>(number > 0 ? number - 1 : count + number);
  }

  /// By the points that faces have.
  void scale() {
    constexpr double huge = std::numeric_limits<double>::infinity();
    Point low{huge, huge, huge};
    Point high{-huge, -huge, -huge};
    for (Model::Triangle const& t : model_.triangles) {
      for (std::uint32_t const i : t.point) {
        Point const& p = points_[i];
        low = {std::min(low.x, p.x), std::min(low.y, p.y), std::min(low.z, p.z)};
        high = {std::max(high.x, p.x), std::max(high.y, p.y), std::max(high.z, p.z)};
      }
    }
    double const extent = std::max({high.x - low.x, high.y - low.y, high.z - low.z});
    if (!(extent > 0)) fail_file("all of its faces' points are in one place");
    if (!std::isfinite(extent)) fail_file("its points are too far apart");
    auto const scaled = [&](double p, double a, double b) {
      return static_cast<float>((p - (a + (b - a) / 2)) / extent * model_extent);
    };
    model_.points.resize(points_.size());
    for (Model::Triangle const& t : model_.triangles) {
      for (std::uint32_t const i : t.point) {
        Point const& p = points_[i];
        model_.points[i] = {scaled(p.x, low.x, high.x), scaled(p.y, low.y, high.y), scaled(p.z, low.z, high.z)};
      }
    }
  }

  std::string path_;
  std::size_t number_ = 0;
  std::uint32_t faces_ = 0;
  std::vector<Point> points_;
  Model model_;
};

}  // namespace

Model make_cube() {
  Model cube;
  float const h = model_extent / 2;
  // The bits of a corner's number say on which side it lies.
  for (unsigned i = 0; i < 8; ++i)
    cube.points.push_back({(i & 1) != 0 ? h : -h, (i & 2) != 0 ? h : -h, (i & 4) != 0 ? h : -h});
  constexpr std::array<std::array<std::uint32_t, 4>, 6> faces{
      {{0, 2, 6, 4}, {1, 5, 7, 3}, {0, 4, 5, 1}, {2, 3, 7, 6}, {0, 1, 3, 2}, {4, 6, 7, 5}}};
  for (std::uint32_t f = 0; f < faces.size(); ++f) {
    auto const& [a, b, c, d] = faces[f];
    cube.triangles.push_back({{a, b, c}, f});
    cube.triangles.push_back({{a, c, d}, f});
  }
  return cube;
}

Model read_obj(std::string const& path) { return ObjReader{path}.read(); }

}  // namespace rasterization
