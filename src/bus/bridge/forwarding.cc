#include "bus/bridge/forwarding.h"

namespace chela::bus::bridge {
namespace {

Task<Result<std::string>> pass_on(Remote& remote, TextCall call, std::string function_id,
                                  std::chrono::milliseconds timeout) {
  return remote.call({.function_id = std::move(function_id),
                      .data = std::string(call.data),
                      .traceparent = std::move(call.traceparent),
                      .baggage = std::move(call.baggage),
                      .timeout = timeout,
                      .stop = call.context.stop});
}

}  // namespace

Result<> forward(Bus& bus, Remote& remote, Forwarded function) {
  return bus.add({.spec = {.id = function.local,
                           .description = std::move(function.description),
                           .request_format = std::move(function.request_format),
                           .response_format = "",
                           .metadata = ""},
                  .text = [&remote, id = function.remote, timeout = function.timeout](TextCall call) {
                    return pass_on(remote, std::move(call), id, timeout);
                  }});
}

op::CallContext context_of_bridge(std::stop_token stop) {
  const op::Principal user{.realm = "default", .user = "default", .permissions = {"*"}};
  return {.principal = user, .scope = user.scope(), .stop = std::move(stop)};
}

}  // namespace chela::bus::bridge
