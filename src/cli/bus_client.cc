#include "cli/bus_client.h"

#include "net/url.h"

namespace chela::cli {
namespace {

// A function may take as long as it wants; the bus has its own limits.
constexpr auto kCallStall = std::chrono::hours(24);

Error error_of(const net::HttpResponse& response, std::string_view function_id) {
  const Result<json::Value> body = json::parse(response.body);
  const json::Value* error = body ? body->find("error") : nullptr;
  if (error == nullptr)
    return {.code = Code::kUpstream,
            .message = fmt::format("what answered the call of {} is no bus (HTTP {})", function_id,
                                   response.status)};
  const std::string code = error->string_or("code", "UNKNOWN");
  Code own = code_from_name(code).value_or(Code::kUpstream);
  if (code == "function_not_found") own = Code::kNotFound;
  if (code == "FORBIDDEN") own = Code::kPermissionDenied;
  const std::string message = error->string_or("message", "the function failed without a message");
  const std::string_view next = code == "function_not_found" ? "; chela functions --all lists them" : "";
  return Error{.code = own, .message = fmt::format("{}: {}{}", code, message, next)}.with("bus_code", code);
}

}  // namespace

Result<BusAddress> parse_bus_address(std::string_view text) {
  std::string address(text);
  if (address.starts_with("ws://") || address.starts_with("wss://")) address.replace(0, 2, "http");
  BusAddress parsed;
  if (const size_t query = address.find('?'); query != std::string::npos) {
    for (const auto& [name, value] : net::parse_query(std::string_view(address).substr(query + 1))) {
      if (name == "token") parsed.token = value;
    }
    address.resize(query);
  }
  while (address.ends_with('/')) address.pop_back();
  const Result<net::Url> url = net::Url::parse(address);
  if (!url || url->path != "/")
    return fail(Code::kInvalidArgument, "'{}' is no address of a bus; ws://127.0.0.1:49134 is one", text);
  parsed.url = std::move(address);
  return parsed;
}

Task<Result<json::Value>> call_bus(net::HttpClient& http, BusAddress address, std::string function_id,
                                   json::Value data, std::stop_token stop) {
  Result<std::shared_ptr<const net::EgressPolicy>> egress = net::EgressPolicy::exact_url(address.url);
  if (!egress) co_return fail(egress.error());
  net::ClientRequest request{
      .method = "POST",
      .url = address.url + "/call",
      .body = json::write(json::Value::object({{"function_id", function_id}, {"data", std::move(data)}})),
      .stall_timeout = kCallStall,
      .egress = std::move(*egress)};
  request.headers.add("Content-Type", "application/json");
  if (!address.token.empty()) request.headers.add("Authorization", "Bearer " + address.token);
  Result<net::HttpResponse> response = co_await http.fetch(std::move(request), std::move(stop));
  if (!response) co_return fail(response.error());
  if (response->status != 200) co_return fail(error_of(*response, function_id));
  const Result<json::Value> body = json::parse(response->body);
  const json::Value* result = body ? body->find("result") : nullptr;
  if (result == nullptr) co_return fail(error_of(*response, function_id));
  co_return *result;
}

}  // namespace chela::cli
