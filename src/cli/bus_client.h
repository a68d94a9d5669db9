#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

#include "base/json.h"
#include "net/http_client.h"
#include "runtime/clock.h"

namespace chela::cli {

// Where a bus is and how one gets in.
struct BusAddress {
  std::string url;         // http or https, without path
  std::string token = {};  // "" = none
};

// From "ws://host:port", "http://host:port/?token=..." and the like. kInvalidArgument for anything else.
Result<BusAddress> parse_bus_address(std::string_view text);

// Calls one function of a bus that listens there. An error of the function keeps its message; its code on the bus is context "bus_code".
// kUnavailable when nobody listens.
Task<Result<json::Value>> call_bus(net::HttpClient& http, BusAddress address, std::string function_id,
                                   json::Value data, std::stop_token stop);

}  // namespace chela::cli
