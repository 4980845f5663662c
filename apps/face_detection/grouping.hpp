// Grouping: one face is found many times, a little apart; how many rectangles become few.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "face_detection/rectangle.hpp"

namespace face_detection {

/// OpenCV's rule, with its eps of 0.2:
/// - Two rectangles are similar when each of their four sides is at most 0.2 times half the sum of their smaller width
///   and their smaller height apart. A class holds what is linked by similar ones, be it through others.
/// - A class of more than `min_neighbours` gives one rectangle, its mean, rounded.
/// - That one is dropped where it lies in the mean of another such class, widened by 0.2 of its width and height on
/// each
///   side, and the other class has more rectangles, and more than 3; or this one has fewer than 3.
/// In the order of each class' first rectangle. min_neighbours 0: all rectangles, as they are.
std::vector<Rectangle> group(std::span<Rectangle const> rectangles, std::int32_t min_neighbours);

}  // namespace face_detection
