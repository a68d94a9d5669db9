#pragma once

#include "api/services.h"
#include "op/operation.h"

namespace chela::api {

// chat::events: what happens in the user's threads, as it happens.
op::Operation chat_events(const Services& services);

}  // namespace chela::api
