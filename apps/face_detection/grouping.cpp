#include "face_detection/grouping.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace face_detection {
namespace {

constexpr double eps = 0.2;

std::int64_t right(Rectangle const& r) { return std::int64_t{r.x} + r.width; }
std::int64_t bottom(Rectangle const& r) { return std::int64_t{r.y} + r.height; }

bool are_similar(Rectangle const& one, Rectangle const& other) {
  double const allowed = eps * (std::min(one.width, other.width) + std::min(one.height, other.height)) * 0.5;
  auto const near = [&](std::int64_t a, std::int64_t b) { return static_cast<double>(std::abs(a - b)) <= allowed; };
  return near(one.x, other.x) && near(one.y, other.y) && near(right(one), right(other)) &&
         near(bottom(one), bottom(other));
}

/// Sets that are joined, each known by one of its members.
class Sets {
 public:
  explicit Sets(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }
  std::size_t of(std::size_t member) {
    while (parent_[member] != member) member = parent_[member] = parent_[parent_[member]];
    return member;
  }
  void join(std::size_t one, std::size_t other) { parent_[of(one)] = of(other); }

 private:
  std::vector<std::size_t> parent_;
};

/// For each rectangle its class, numbered by first members.
std::vector<std::size_t> classes_of(std::span<Rectangle const> rectangles) {
  Sets sets{rectangles.size()};
  // By left sides: what is similar to a rectangle lies no further right than its own size allows.
  std::vector<std::size_t> order(rectangles.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return rectangles[i].x; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    Rectangle const& one = rectangles[order[i]];
    double const reach = eps * (one.width + one.height) * 0.5;
    for (std::size_t j = i + 1; j < order.size() && rectangles[order[j]].x - one.x <= reach; ++j) {
      if (are_similar(one, rectangles[order[j]])) sets.join(order[i], order[j]);
    }
  }
  constexpr std::size_t none = ~std::size_t{0};
  std::vector<std::size_t> number(rectangles.size(), none);
  std::vector<std::size_t> classes(rectangles.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < rectangles.size(); ++i) {
    std::size_t& n = number[sets.of(i)];
    if (n == none) n = count++;
    classes[i] = n;
  }
  return classes;
}

struct Class {
  std::int64_t x = 0, y = 0, width = 0, height = 0;  // sums
  std::int32_t members = 0;
  Rectangle mean{};
};

/// In single precision, half to even: as OpenCV rounds.
std::int32_t mean(std::int64_t sum, std::int32_t members) {
  return static_cast<std::int32_t>(std::lrint(static_cast<float>(sum) * (1.0F / static_cast<float>(members))));
}

bool lies_in(Rectangle const& inner, Rectangle const& outer) {
  auto const dx = static_cast<std::int64_t>(std::lrint(outer.width * eps));
  auto const dy = static_cast<std::int64_t>(std::lrint(outer.height * eps));
  return inner.x >= outer.x - dx && inner.y >= outer.y - dy && right(inner) <= right(outer) + dx &&
         bottom(inner) <= bottom(outer) + dy;
}

}  // namespace

std::vector<Rectangle> group(std::span<Rectangle const> rectangles, std::int32_t min_neighbours) {
  if (min_neighbours <= 0) return {rectangles.begin(), rectangles.end()};
  std::vector<std::size_t> const class_of = classes_of(rectangles);
  std::vector<Class> classes(class_of.empty() ? 0 : std::ranges::max(class_of) + 1);
  for (std::size_t i = 0; i < rectangles.size(); ++i) {
    Class& c = classes[class_of[i]];
    c.x += rectangles[i].x;
    c.y += rectangles[i].y;
    c.width += rectangles[i].width;
    c.height += rectangles[i].height;
    ++c.members;
  }
  std::erase_if(classes, [&](Class const& c) { return c.members <= min_neighbours; });
  for (Class& c : classes)
    c.mean = {mean(c.x, c.members), mean(c.y, c.members), mean(c.width, c.members), mean(c.height, c.members)};
  std::vector<Rectangle> faces;
  for (Class const& c : classes) {
    bool const is_inside = std::ranges::any_of(classes, [&](Class const& other) {
      bool const is_surer = other.members > std::max(3, c.members) || c.members < 3;
      return &other != &c && is_surer && lies_in(c.mean, other.mean);
    });
    if (!is_inside) faces.push_back(c.mean);
  }
  return faces;
}

}  // namespace face_detection
