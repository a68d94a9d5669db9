#include "bus/engine/expand.h"

#include <algorithm>

namespace chela::bus {

Result<std::string> expand(std::string_view text, std::string_view path,
                           const std::function<std::optional<std::string>(std::string_view name)>& variable) {
  std::string out;
  size_t at = 0;
  for (;;) {
    const size_t open = text.find("${", at);
    const size_t close = open == std::string_view::npos ? open : text.find('}', open);
    if (close == std::string_view::npos) break;
    const std::string_view inner = text.substr(open + 2, close - open - 2);
    const size_t colon = inner.find(':');
    const std::string_view name = inner.substr(0, colon);
    out += text.substr(at, open - at);
    at = close + 1;
    if (name.empty()) {
      out += text.substr(open, at - open);
    } else if (const std::optional<std::string> value = variable(name)) {
      out += *value;
    } else if (colon != std::string_view::npos) {
      out += inner.substr(colon + 1);
    } else {
      const auto line = std::ranges::count(text.substr(0, open), '\n') + 1;
      return fail(Code::kInvalidArgument,
                  "{}:{}: the environment variable {} is not set; set it, or write ${{{}:value}}", path, line,
                  name, name);
    }
    if (out.size() > kMaxExpandedBytes)
      return fail(Code::kTooLarge, "{}: with its variables it is longer than {} bytes", path,
                  kMaxExpandedBytes);
  }
  out += text.substr(at);
  return out;
}

}  // namespace chela::bus
