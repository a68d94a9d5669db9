#include "bus/http/http_module.h"

#include <algorithm>

#include "base/strings.h"
#include "bus/config_reader.h"
#include "bus/http/serving.h"

namespace chela::bus::http {
namespace {

constexpr std::array<std::string_view, 2> kNames = {"modules::api::RestApiModule", "iii-http"};
constexpr auto kStopGrace = kStopWait + std::chrono::milliseconds(500);
constexpr std::string_view kTriggerFormat =
    R"({"type":"object","required":["api_path"],"properties":{)"
    R"("api_path":{"type":"string","description":"users/:id; a segment with a colon is a parameter"},)"
    R"("http_method":{"type":"string","enum":["GET","POST","PUT","DELETE","PATCH","HEAD","OPTIONS"],"default":"GET"},)"
    R"("condition_function_id":{"type":"string"},)"
    R"("middleware_function_ids":{"type":"array","items":{"type":"string"}}}})";

net::HttpServerOptions server_options() {
  net::HttpServerOptions options;
  options.max_connections = kMaxHttpConnections;
  options.body_limit = [](std::string_view) { return kMaxJsonBytes; };
  options.stream_limit = [](const net::HttpRequest& head) -> std::optional<std::uint64_t> {
    if (body_kind(head) == BodyKind::kJson) return std::nullopt;
    return kMaxStreamedBytes;
  };
  options.refusal = [](int status, const Error& error, std::string_view) {
    return response_of(
        Failure{.status = status, .code = std::string(code_name(error.code)), .message = error.message},
        nullptr);
  };
  return options;
}

// Ordered by priority, then as they are listed.
struct Middleware {
  std::int64_t priority;
  size_t place;
  std::string function_id;
  auto operator<=>(const Middleware&) const = default;
};

std::vector<std::string> read_middleware(ConfigReader& reader) {
  std::vector<Middleware> found;
  for (ConfigReader& each : reader.sections("middleware")) {
    static constexpr std::array<std::string_view, 1> kPhases = {"preHandler"};
    each.choice("phase", kPhases);
    found.push_back({.priority = each.integer("priority", 0, -1'000'000, 1'000'000),
                     .place = found.size(),
                     .function_id = each.text("function_id")});
    if (found.back().function_id.empty()) each.refuse("function_id", "must name a function");
    if (const Result<> good = each.finish(); !good) reader.refuse("middleware", good.error().message);
  }
  if (found.size() > kMaxMiddleware)
    reader.refuse("middleware",
                  fmt::format("has {} entries; at most {} are taken", found.size(), kMaxMiddleware));
  std::ranges::sort(found);
  std::vector<std::string> ids;
  for (Middleware& each : found) ids.push_back(std::move(each.function_id));
  return ids;
}

}  // namespace

Result<HttpOptions> HttpOptions::read(const json::Value& config) {
  ConfigReader reader(std::string(kNames[0]), config);
  HttpOptions options;
  options.host = reader.text("host", options.host);
  options.port = static_cast<std::uint16_t>(reader.integer("port", options.port, 0, 65535));
  options.timeout = std::chrono::milliseconds(
      reader.integer("default_timeout", std::chrono::milliseconds(kDefaultTimeout).count(), 1, 86'400'000));
  options.concurrency = static_cast<size_t>(
      reader.integer("concurrency_request_limit", kDefaultConcurrency, 1, kMaxHttpConnections));
  ConfigReader cors = reader.section("cors");
  options.cors = {.origins = cors.texts("allowed_origins"),
                  .methods = cors.texts("allowed_methods"),
                  .headers = cors.texts("allowed_headers")};
  if (Result<> good = cors.finish(); !good) return fail(good.error());
  options.middleware = read_middleware(reader);
  if (Result<> good = reader.finish(); !good) return fail(good.error());
  return options;
}

ModuleKind kind() {
  return {.names = {kNames.begin(), kNames.end()},
          .make = [](ModuleParts& parts, const json::Value& config) -> Result<std::unique_ptr<Module>> {
            Result<HttpOptions> options = HttpOptions::read(config);
            if (!options) return fail(options.error());
            return HttpModule::create(
                {.loop = parts.loop, .bus = parts.bus, .channels = parts.channels, .ids = parts.ids},
                std::move(*options));
          }};
}

HttpModule::HttpModule(HttpParts parts, HttpOptions options)
    : loop_(parts.loop),
      bus_(parts.bus),
      channels_(parts.channels),
      ids_(parts.ids),
      options_(std::move(options)),
      cors_(options_.cors),
      permits_(parts.loop, options_.concurrency),
      bodies_(parts.loop),
      server_(parts.loop, server_options(),
              [this](std::shared_ptr<net::Exchange> exchange) { return handle(std::move(exchange)); }) {}

HttpModule::~HttpModule() = default;

Result<std::unique_ptr<HttpModule>> HttpModule::create(HttpParts parts, HttpOptions options) {
  std::unique_ptr<HttpModule> made(new HttpModule(parts, std::move(options)));
  const Result<> added = parts.bus.add_trigger_type({.id = "http",
                                                     .description = "a request to an HTTP path",
                                                     .trigger_format = std::string(kTriggerFormat)},
                                                    *made);
  if (!added) return fail(added.error());
  return made;
}

Task<Result<>> HttpModule::start() {
  const Result<std::uint16_t> port = server_.listen_tcp(options_.host, options_.port);
  if (!port) {
    Error error = port.error();
    error.message = fmt::format("HTTP triggers cannot be served: {}", error.message);
    co_return fail(std::move(error));
  }
  port_ = *port;
  co_return Result<>{};
}

Task<> HttpModule::stop() {
  stopping_ = true;
  const runtime::TimerId wait =
      loop_.call_at(loop_.clock().steady() + kStopWait, [this] { out_of_time_.request_stop(); });
  co_await server_.stop(kStopGrace);
  loop_.cancel(wait);
  bodies_.stop();
  co_await bodies_.join();
}

json::Value HttpModule::status() const {
  return json::Value::object({{"port", port_},
                              {"routes", routes_.size()},
                              {"connections", server_.connections()},
                              {"bodies", bodies_.running()}});
}

Result<> HttpModule::bind(BoundTriggerPtr trigger) {
  Result<RoutePtr> route = Route::create(std::move(trigger));
  if (!route) return fail(route.error());
  return routes_.add(std::move(*route));
}

void HttpModule::release(const BoundTrigger& trigger) { routes_.remove(trigger); }

Task<> HttpModule::handle(std::shared_ptr<net::Exchange> exchange) {
  const net::HttpRequest& request = exchange->request();
  if (std::optional<net::HttpResponse> answer = cors_.preflight(request)) {
    exchange->reply(std::move(*answer));
    co_return;
  }
  co_await permits_.acquire();
  Permit permit(permits_);
  if (out_of_time_.stop_requested()) co_return exchange->reply(response_of(stopping(), nullptr));
  if (!stopping_ && exchange->client_gone().stop_requested()) co_return exchange->abort();
  const std::optional<std::vector<std::string>> path = split_path(request.path);
  Routes::Match match = path ? routes_.find(request.method, *path) : Routes::Match{};
  if (!match.route) {
    const bool other = !match.methods.empty();
    net::HttpResponse response = response_of(
        other ? not_allowed(request.method, request.path) : not_found(request.method, request.path), nullptr);
    if (other) response.headers.add("Allow", strings::join(match.methods, ", "));
    cors_.allow(request, response.headers);
    co_return exchange->reply(std::move(response));
  }
  Serving serving(*this, std::move(exchange), std::move(match), std::move(permit));
  co_await serving.run();
}

}  // namespace chela::bus::http
