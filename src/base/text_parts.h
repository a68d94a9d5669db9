#pragma once

#include <string>
#include <string_view>

namespace chela {

// One text in pieces, each of which ends between characters: what is only passed on need not be put together first.
struct TextParts {
  std::string_view before;
  std::string_view middle = {};
  std::string_view after = {};

  size_t size() const { return before.size() + middle.size() + after.size(); }
  std::string joined() const {
    std::string text;
    text.reserve(size());
    return text.append(before).append(middle).append(after);
  }
};

}  // namespace chela
