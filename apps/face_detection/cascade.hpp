// Cascade: the trained classifier, as flat arrays that a device can copy; read from OpenCV's XML.
//
//   cascade   a window is a face when it passes every stage, in order
//   stage     passes when the leaves of its weak classifiers add up to its threshold
//   weak      one of two leaves, by the code that its feature has in the window
//   feature   3 x 3 cells of pixels; a code of 8 bits says which of the outer ones are as bright as the one in
//             the middle
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace face_detection {

/// Wider or higher windows are refused where they are read.
inline constexpr std::int32_t max_window_side = 255;

/// The cell at the top left, in pixels of the window; the other eight are as large and lie right and below.
struct Feature {
  std::uint8_t x;
  std::uint8_t y;
  std::uint8_t width;
  std::uint8_t height;
};

struct WeakClassifier {
  std::int32_t feature;
  float leaf_of_set;        ///< where the code's bit in `subset` is 1
  float leaf_of_clear;      ///< where it is 0
  std::uint32_t subset[8];  ///< code c has bit c % 32 of word c / 32
};

struct Stage {
  std::int32_t first_weak;
  std::int32_t weak_count;
  float threshold;  ///< as in the file, less 1e-5: sums that should be equal pass
};

/// What stage code reads. *Lifetime*: points at memory of the device that runs it, owns nothing.
struct CascadeView {
  Stage const* stages;
  WeakClassifier const* weaks;
  Feature const* features;
  std::int32_t stage_count;
  std::int32_t window_width;
  std::int32_t window_height;
};

struct Cascade {
  std::int32_t window_width = 0;
  std::int32_t window_height = 0;
  std::vector<Stage> stages{};  ///< at least one, each of at least one weak classifier
  std::vector<WeakClassifier> weaks{};
  std::vector<Feature> features{};  ///< each lies in the window

  /// *Lifetime*: until a vector changes its size.
  [[nodiscard]] CascadeView view() const {
    return {stages.data(), weaks.data(), features.data(), static_cast<std::int32_t>(stages.size()),
            window_width,  window_height};
  }
};

/// Reads a cascade as OpenCV's traincascade writes it: boosted, of LBP features, trees of one inner node.
/// *Throws* cli::BadInput in one line with the file, and the line where there is one: not readable, not XML, not a
/// cascade, of another kind (Haar or HOG features, deeper trees, the format of OpenCV 1), or wrong in itself.
Cascade read_cascade(std::string const& path);

/// OpenCV's LBP frontal faces, which the program carries.
Cascade frontal_face_cascade();

}  // namespace face_detection
