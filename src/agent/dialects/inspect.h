#pragma once

#include <string>
#include <string_view>

namespace chela::agent::dialects {

// One line of `chela inspect tool-calls`: {"text","tools":[{"name","parameters"}]} in, {"text","calls":[{"name","arguments","id"?}]}
// out. A line that is no such object gives no calls, and says why under "error".
std::string inspect_line(std::string_view line);

}  // namespace chela::agent::dialects
