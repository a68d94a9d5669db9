#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace chela::os {

// Tells the service manager how this service is (sd_notify): "READY=1", "STOPPING=1", lines of VARIABLE=VALUE. `address` is what the manager
// put into NOTIFY_SOCKET: a path, or an abstract name behind '@'; "" is no manager, and no error.
Result<> notify_manager(const std::string& address, std::string_view state);

}  // namespace chela::os
