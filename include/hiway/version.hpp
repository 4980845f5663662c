// hiway's version: the build and the packages read it here. Within one minor version what is public stays compatible.
#pragma once

#define HIWAY_VERSION_MAJOR 0
#define HIWAY_VERSION_MINOR 1
#define HIWAY_VERSION_PATCH 0

/// The version as a number that grows, for the preprocessor: from 102 on it is 0.1.2 or a later one.
#define HIWAY_VERSION (HIWAY_VERSION_MAJOR * 10000 + HIWAY_VERSION_MINOR * 100 + HIWAY_VERSION_PATCH)

#define HIWAY_AS_TEXT_(x) #x
#define HIWAY_VERSION_TEXT_(major, minor, patch) \
  HIWAY_AS_TEXT_(major) "." HIWAY_AS_TEXT_(minor) "." HIWAY_AS_TEXT_(patch)
/// The version as text: "0.1.2".
#define HIWAY_VERSION_STRING HIWAY_VERSION_TEXT_(HIWAY_VERSION_MAJOR, HIWAY_VERSION_MINOR, HIWAY_VERSION_PATCH)
