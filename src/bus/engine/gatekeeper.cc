#include "bus/engine/gatekeeper.h"

#include "net/url.h"

namespace chela::bus {
namespace {

Error refusal(std::string_view why) {
  return Error{.code = Code::kUnauthenticated, .message = std::string(why)}.with("bus_code", "AUTH_ERROR");
}

json::Value question_of(const Visitor& visitor) {
  json::Value headers = json::Value::object();
  for (const auto& [name, value] : visitor.headers) headers.set(name, value);
  json::Value query = json::Value::object();
  for (const auto& [name, values] : visitor.query) {
    json::Value all = json::Value::array();
    for (const std::string& each : values) all.push_back(each);
    query.set(name, std::move(all));
  }
  const std::string address = visitor.peer.substr(0, visitor.peer.rfind(':'));
  const bool ipv6 = address.starts_with('[') && address.ends_with(']');
  return json::Value::object({{"headers", std::move(headers)},
                              {"query_params", std::move(query)},
                              {"ip_address", ipv6 ? address.substr(1, address.size() - 2) : address}});
}

}  // namespace

Result<> check_page(const Visitor& visitor) {
  const auto origin = visitor.headers.find("origin");
  if (origin == visitor.headers.end()) return {};
  const Result<net::Url> page = net::Url::parse(origin->second);
  if (page && (page->host == "localhost" || page->host == "::1" || page->host.starts_with("127."))) return {};
  return fail(refusal("pages of other hosts need a listener whose rbac has an auth_function_id"));
}

Gatekeeper::Gatekeeper(Bus& bus, ListenerConfig listener, Rights host)
    : bus_(bus), listener_(std::move(listener)), host_(std::move(host)) {
  every_.deciders.middleware = listener_.middleware_function_id;
  every_.deciders.host = std::make_shared<const Rights>(host_);
  if (!listener_.rbac) return;
  every_.calls = Session::Calls::kListed;
  every_.expose = listener_.rbac->expose;
  every_.deciders.on_function = listener_.rbac->on_function_registration;
  every_.deciders.on_trigger = listener_.rbac->on_trigger_registration;
  every_.deciders.on_trigger_type = listener_.rbac->on_trigger_type_registration;
}

Task<Result<Admission>> Gatekeeper::admit(Visitor visitor) {
  const bool asks = listener_.rbac && !listener_.rbac->auth_function_id.empty();
  if (const Result<> page = check_page(visitor); !asks && !page) co_return fail(page.error());
  if (!listener_.rbac && listener_.middleware_function_id.empty()) co_return Admission{.rights = host_};
  Rights rights = host_;
  rights.principal.permissions = {"bus:call", "bus:register"};
  Session session = every_;
  if (asks) {
    const std::string& id = listener_.rbac->auth_function_id;
    const Result<json::Value> answer =
        co_await bus_.call({.principal = host_.principal,
                            .scope = host_.principal.scope(),
                            .deadline = bus_.clock().steady() + listener_.handshake_timeout},
                           id, question_of(visitor));
    if (!answer) co_return fail(refusal(answer.error().message));
    Result<Session> made = Session::from_answer(std::move(session), *answer);
    if (!made) co_return fail(refusal(fmt::format("{}: {}", id, made.error().message)));
    session = std::move(*made);
  }
  co_return Admission{.rights = std::move(rights),
                      .session = std::make_shared<const Session>(std::move(session))};
}

}  // namespace chela::bus
