#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace chela::testing {

// A new directory for one test, gone with it.
class TestDir {
 public:
  TestDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "chela-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TestDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestDir(const TestDir&) = delete;
  TestDir& operator=(const TestDir&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace chela::testing
