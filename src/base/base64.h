#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace chela::base64 {

std::string encode(std::string_view bytes);         // RFC 4648 section 4, padded
std::string encode_url(std::string_view bytes);     // section 5, without padding
Result<std::string> decode(std::string_view text);  // either alphabet, padding optional, no white space

}  // namespace chela::base64
