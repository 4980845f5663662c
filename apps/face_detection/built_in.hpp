// What the program carries, so that it runs without files.
#pragma once
#include <cstdint>
#include <span>

namespace face_detection {

extern char const* const frontal_face_xml;            ///< data/lbpcascade_frontalface.xml
extern std::span<std::uint8_t const> const face_pgm;  ///< data/face_176.pgm

}  // namespace face_detection
