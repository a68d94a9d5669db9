#pragma once

#include <memory>

#include "bus/bus.h"
#include "bus/server.h"
#include "net/http_server.h"

namespace chela::bus {

// One call over plain HTTP, for programs that are no workers: POST with the JSON {"function_id","data"?,"metadata"?,"action"?} is answered
// with {"result"} or {"error":{"code","message"}}. It is a connection of its own for the time of the call, under all rules of one. The
// body must say that it is JSON, which no page of another site can without asking first.
Task<> serve_call(Bus& bus, runtime::EventLoop& loop, std::shared_ptr<net::Exchange> exchange,
                  Admission admitted);

}  // namespace chela::bus
