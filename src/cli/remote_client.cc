#include "cli/remote_client.h"

#include <chrono>
#include <deque>

#include "base/strings.h"
#include "net/sse.h"

namespace chela::cli {
namespace {

// A call may wait for a whole turn of an agent; the engine has its own limits.
constexpr auto kOperationStall = std::chrono::hours(24);
// Streams have a sign of life every kSseKeepAlive.
constexpr auto kStreamStall = 4 * kSseKeepAlive;
constexpr size_t kMaxErrorBytes = 1024 * 1024;

class StreamReader final : public EventReader {
 public:
  explicit StreamReader(std::unique_ptr<net::ClientStream> stream) : stream_(std::move(stream)) {}

  Task<Result<std::optional<op::Event>>> next(std::stop_token stop) override {
    while (ready_.empty()) {
      Result<std::optional<std::string>> bytes = co_await stream_->read(stop);
      if (!bytes && stop.stop_requested()) co_return std::optional<op::Event>();
      if (!bytes) co_return fail(bytes.error());
      if (!*bytes) co_return std::optional<op::Event>();
      Result<std::vector<net::SseEvent>> events = parser_.feed(**bytes);
      if (!events) co_return fail(events.error());
      for (net::SseEvent& each : *events) {
        ready_.push_back(
            {.name = std::move(each.event), .id = std::move(each.id), .data = std::move(each.data)});
      }
    }
    op::Event event = std::move(ready_.front());
    ready_.pop_front();
    co_return event;
  }

 private:
  std::unique_ptr<net::ClientStream> stream_;
  net::SseParser parser_;
  std::deque<op::Event> ready_;
};

std::string text_of(const json::Value& value) {
  return value.as_string() ? *value.as_string() : json::write(value);
}

void add_query(std::string& url, const json::Value& args) {
  char separator = '?';
  for (const json::Member& member : *args.as_object()) {
    url += separator;
    url += net::percent_encode(member.key) + "=" + net::percent_encode(text_of(member.value));
    separator = '&';
  }
}

const op::Route* gateway_route(const op::Operation& operation) {
  for (const op::Route& route : operation.routes) {
    if (route.surface == op::Surface::kGateway) return &route;
  }
  return nullptr;
}

}  // namespace

Result<net::ClientRequest> make_request(const op::Registry& registry, const std::string& operation,
                                        const json::Value& args) {
  const std::shared_ptr<const op::Operation> found = registry.find(operation);
  if (!found) return fail(Code::kNotFound, "there is no operation {}", operation);
  const op::Route* route = gateway_route(*found);
  if (!route) return fail(Code::kUnsupported, "{} has no route", operation);
  json::Value rest = args.is_null() ? json::Value::object() : args;
  if (!rest.is_object())
    return fail(Code::kInvalidArgument, "{} takes an object, not {}", operation, rest.type_name());
  std::string url = "http://chela";
  for (const std::string_view segment : strings::split(std::string_view(route->path).substr(1), '/')) {
    url += '/';
    if (!segment.starts_with('{')) {
      url += segment;
      continue;
    }
    const std::string name(segment.substr(1, segment.size() - 2));
    const json::Value* value = rest.find(name);
    if (!value || text_of(*value).empty())
      return fail(Code::kInvalidArgument, "{} needs {}", operation, name);
    url += net::percent_encode(text_of(*value));
    rest.as_object()->erase(name);
  }
  net::ClientRequest request{.method = route->method};
  if (route->method == "GET" || route->method == "DELETE") {
    add_query(url, rest);
  } else {
    request.headers.add("Content-Type", "application/json");
    request.body = json::write(rest);
  }
  request.url = std::move(url);
  return request;
}

Error error_from_response(int status, std::string_view body) {
  const Result<json::Value> parsed = json::parse(body);
  const json::Value* told = parsed ? parsed->find("error") : nullptr;
  const std::optional<Code> code = told ? code_from_name(told->string_or("code")) : std::nullopt;
  if (!code)
    return Error{.code = Code::kUpstream,
                 .message = fmt::format("the engine answered with status {}", status)};
  Error error{.code = *code, .message = told->string_or("message")};
  if (const json::Value* context = told->find("context"); context && context->is_object()) {
    for (const json::Member& each : *context->as_object()) error.with(each.key, text_of(each.value));
  }
  return error;
}

Task<Result<json::Value>> RemoteClient::call(std::string operation, json::Value args, std::stop_token stop) {
  Result<net::ClientRequest> request = make_request(registry_, operation, args);
  if (!request) co_return fail(request.error());
  request->unix_socket = socket_;
  request->stall_timeout = kOperationStall;
  const Result<net::HttpResponse> response = co_await http_.fetch(std::move(*request), std::move(stop));
  if (!response) co_return fail(response.error());
  if (response->status >= 400) co_return fail(error_from_response(response->status, response->body));
  if (response->body.empty()) co_return json::Value();
  co_return json::parse(response->body);
}

Task<Result<std::unique_ptr<EventReader>>> RemoteClient::open(std::string operation, json::Value args,
                                                              std::stop_token stop) {
  Result<net::ClientRequest> request = make_request(registry_, operation, args);
  if (!request) co_return fail(request.error());
  request->unix_socket = socket_;
  request->stall_timeout = kStreamStall;
  request->max_body = SIZE_MAX;
  Result<std::unique_ptr<net::ClientStream>> stream = co_await http_.open(std::move(*request), stop);
  if (!stream) co_return fail(stream.error());
  if ((*stream)->status() < 400) co_return std::make_unique<StreamReader>(std::move(*stream));
  std::string body;
  while (body.size() < kMaxErrorBytes) {
    const Result<std::optional<std::string>> bytes = co_await (*stream)->read(stop);
    if (!bytes || !*bytes) break;
    body += **bytes;
  }
  co_return fail(error_from_response((*stream)->status(), body));
}

Task<> RemoteClient::close() { co_return; }

}  // namespace chela::cli
