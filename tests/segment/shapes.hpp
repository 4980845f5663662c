// Shapes of segments as the types of typed tests.
#pragma once
#include <string>

#include "hiway/segment/segment.hpp"

namespace hiway::segment_test {

/// A shape that counts.
template <segment::ReplicaOf replica, segment::Refill refill>
struct Of {
  static constexpr segment::Shape shape{replica, refill, true};
};
struct ShapeNames {
  template <class T>
  static std::string GetName(int) {
    return std::string(T::shape.replica == segment::ReplicaOf::warp ? "Warp" : "Block") +
           (T::shape.refill == segment::Refill::lanes ? "Lanes" : "Ensembles");
  }
};

}  // namespace hiway::segment_test
