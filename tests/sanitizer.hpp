// What tests cannot do under a sanitizer.
#pragma once
#include <gtest/gtest.h>

/// For a test that uses up all file descriptors.
#if defined(HIWAY_SANITIZER_NEEDS_DESCRIPTORS)
#define HIWAY_NEEDS_ALL_DESCRIPTORS() GTEST_SKIP() << "the sanitizer opens a pipe to look at an object's type"
#else
#define HIWAY_NEEDS_ALL_DESCRIPTORS() static_cast<void>(0)
#endif
