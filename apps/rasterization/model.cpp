#include "rasterization/model.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <system_error>

#include "cli/text.hpp"

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

/// Whether all of `text` is a whole number.
bool parse_index(std::string_view text, std::int64_t& number) {
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

constexpr std::size_t most_bytes = std::size_t{1} << 32;
constexpr std::size_t most_line_bytes = std::size_t{1} << 20;  ///< with the lines that it is continued in

/// Keywords that do not change the surfaces drawn.
constexpr std::array passed_over{"vt",     "vn",     "g",   "o",     "s",        "mg",       "usemtl",     "mtllib",
                                 "usemap", "maplib", "lod", "bevel", "c_interp", "d_interp", "shadow_obj", "trace_obj"};

class ObjReader {
 public:
  ObjReader(std::string const& path, std::vector<std::string>& notes)
      : path_(path), lines_(path, most_bytes), notes_(notes) {}

  Model read() {
    while (next_line()) {
      std::string_view rest{line_};
      std::string_view const kind = next_word(rest);
      if (kind == "v") {
        add_point(rest);
      } else if (kind == "f") {
        add_face(rest);
      } else if (!kind.empty() && std::ranges::find(passed_over, kind) == passed_over.end()) {
        if (not_read_.empty()) not_read_ = "line " + std::to_string(number_) + ": keyword " + cli::shown(kind);
        ++lines_not_read_;
      }
    }
    not_read_ += " is not read; lines not read: " + std::to_string(lines_not_read_);
    if (model_.triangles.empty())
      lines_.fail_file("no faces (lines 'f')" + (lines_not_read_ == 0 ? "" : "; " + not_read_));
    if (lines_not_read_ > 0) notes_.push_back(path_ + ": " + not_read_);
    scale();
    return std::move(model_);
  }

 private:
  [[noreturn]] void fail(std::string const& what) const { lines_.fail_at(number_, what); }

  /// Without its comment; joined with the next where it ends with a backslash. `number_` is the first one's.
  bool next_line() {
    line_.clear();
    bool any = false;
    for (bool goes_on = true; goes_on && lines_.next();) {
      if (!any) number_ = lines_.number();
      any = true;
      std::string_view part = lines_.rest();
      part = part.substr(0, part.find('#'));
      goes_on = part.ends_with('\\');
      if (goes_on) part.remove_suffix(1);
      line_ += part;
      line_ += ' ';
      if (line_.size() > most_line_bytes) fail("longer than " + std::to_string(most_line_bytes) + " bytes");
    }
    return any;
  }

  void add_point(std::string_view rest) {
    Point p{};
    for (double* const number : {&p.x, &p.y, &p.z}) {
      std::string_view const word = next_word(rest);
      if (word.empty()) fail("a point has three numbers");
      if (!cli::parse_number(word, *number) || !std::isfinite(*number)) fail("not a number: " + cli::shown(word));
    }
    // A weight, or a colour, or both, which are not drawn.
    double unused = 0;
    for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
      if (!cli::parse_number(word, unused)) fail("not a number: " + cli::shown(word));
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
      bool const may_be_empty = part > 0;  // v//vn; some programs write v/ and v//
      if (!(text.empty() && may_be_empty) && (!parse_index(text, of_part) || of_part == 0))
        fail("not a corner: " + cli::shown(corner));
      if (part == 0) number = of_part;
      if (slash == std::string_view::npos) break;
      if (part == 2) fail("not a corner: " + cli::shown(corner));
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
    if (!(extent > 0)) lines_.fail_file("all of its faces' points are in one place");
    if (!std::isfinite(extent)) lines_.fail_file("its points are too far apart");
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
  cli::TextLines lines_;
  std::vector<std::string>& notes_;
  std::string line_;
  std::size_t number_ = 0;  // of the line, or of its first where it is continued
  std::string not_read_;    // the first line with a keyword that is not known here
  std::size_t lines_not_read_ = 0;
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

Model read_obj(std::string const& path, std::vector<std::string>& notes) { return ObjReader{path, notes}.read(); }

}  // namespace rasterization
