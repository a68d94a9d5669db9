#pragma once

// For the tests of this folder: databases in folders that go away.

#include <memory>
#include <string>

#include "store/conformance.h"

namespace chela::store::sqlite {

// A new folder, removed with all it holds.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::unique_ptr<ConformanceStores> stores_in_file();
std::unique_ptr<ConformanceStores> stores_in_memory();

}  // namespace chela::store::sqlite
