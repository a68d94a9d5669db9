#pragma once

#include <string_view>

#include "base/result.h"

namespace chela::bus::bridge {

// Whether the data of a call may go to the other engine: kUnsupported when a reference to a data channel is in it, which means nothing
// there. The channels that every HTTP request comes with (request_body, response) may be in it: who is called need not touch them.
Result<> may_cross(std::string_view function_id, std::string_view data);

}  // namespace chela::bus::bridge
