// A folder for one test's files, and what is said of bad ones.
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <system_error>

#include "cli/bad_input.hpp"

class Files : public testing::Test {
 protected:
  Files() {
    auto const* const test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path{testing::TempDir()} /
              (std::string{"hiway_"} + test->test_suite_name() + "_" + test->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~Files() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string path(std::string const& name) const { return (folder_ / name).string(); }
  std::string plain(std::string const& name, std::string const& content) const {
    std::ofstream{path(name), std::ios::binary} << content;
    return path(name);
  }

 private:
  std::filesystem::path folder_;
};

/// What BadInput says; one line of it.
inline std::string complaint(std::function<void()> const& call) {
  try {
    call();
  } catch (cli::BadInput const& error) {
    std::string const text = error.what();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text;
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}
