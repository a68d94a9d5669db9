#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "llm/provider.h"

namespace chela::llm {

inline constexpr size_t kMaxPlainToolName = 64;

// Names of tools for a provider that takes only [a-zA-Z0-9_-]{1,64}, and back. "::" is written "__", any other sign "_"; where that
// would be another tool's name, or too long, a hash of the name at the end keeps them apart. The same tools always get the same names.
class PlainToolNames {
 public:
  explicit PlainToolNames(const std::vector<ToolSpec>& tools);

  std::string plain(const std::string& name) const;
  // The tool that has the plain name; a name that none has stays as it is.
  std::string own(const std::string& plain) const;

 private:
  std::map<std::string, std::string> plain_;  // by the tool's own name
  std::map<std::string, std::string> own_;    // by the plain one
};

}  // namespace chela::llm
