#pragma once

#include <string>

#include "base/scope.h"

namespace chela::tools {

// Where the files of each user are: <base>/<user>, and <base>/<realm>+<user> outside the realm "default". Bytes that could mean
// something to a file system are written as %XX, so two users never share a folder.
class Workspaces {
 public:
  explicit Workspaces(std::string base) : base_(std::move(base)) {}

  std::string folder_of(const Scope& scope) const;

 private:
  std::string base_;
};

}  // namespace chela::tools
