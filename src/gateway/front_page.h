#pragma once

#include <string>
#include <string_view>

namespace chela::gateway {

// What a person sees who opens the gateway's address in a browser: what this is, and where to go on.
std::string front_page(std::string_view version);

}  // namespace chela::gateway
