#include "llm/bus/bus_router.h"

#include "base/ids.h"
#include "obs/log.h"

namespace chela::llm {
namespace {

constexpr std::string_view kFunction = "llm::route";

}  // namespace

std::string model_from_route(const json::Value& value) {
  const std::string model = value.string_or("model");
  const std::string provider = value.string_or("provider");
  const bool named = provider.empty() || model.starts_with(provider + "/");
  std::string name = named ? model : provider + "/" + model;
  return !model.empty() && is_foreign_id(name) && name.find(' ') == std::string::npos ? name : std::string();
}

Task<std::optional<std::string>> BusRouter::route(std::string message, std::int64_t tools, std::string model,
                                                  std::stop_token stop) {
  op::CallContext context{.principal = asking_,
                          .scope = asking_.scope(),
                          .deadline = bus_.clock().steady() + kRouteTime,
                          .stop = std::move(stop)};
  if (!bus_.replaced(kFunction, context)) co_return std::nullopt;
  const json::Value data = json::Value::object(
      {{"message", std::move(message)}, {"toolCount", tools}, {"model", std::move(model)}});
  const Result<json::Value> said =
      co_await bus_.call_replacement(std::move(context), std::string(kFunction), data);
  std::string name = said ? model_from_route(*said) : "";
  if (name.empty()) {
    log::warn("llm", "a worker's llm::route chose no model; the engine chooses",
              {{"error", said ? std::string("it named none") : said.error().message}});
    co_return std::nullopt;
  }
  co_return name;
}

}  // namespace chela::llm
