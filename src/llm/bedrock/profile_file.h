#pragma once

#include <map>
#include <string>
#include <string_view>

namespace chela::llm::bedrock {

// The values of one profile in the text of ~/.aws/credentials ("[name]") or ~/.aws/config ("[profile name]", "[default]"). Empty when it is
// not there. What is no line "key = value" is passed over, as are nested values.
std::map<std::string, std::string> profile_of(std::string_view text, std::string_view name);

}  // namespace chela::llm::bedrock
