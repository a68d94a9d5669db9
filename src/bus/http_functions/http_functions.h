#pragma once

#include <memory>

#include "bus/bus.h"
#include "bus/http_functions/guard.h"
#include "bus/http_functions/target.h"
#include "bus/module.h"
#include "net/http_client.h"

namespace chela::bus::http_functions {

// How modules::http_functions::HttpFunctionsModule (iii-http-functions) is made; it is always there.
ModuleKind kind();

// Functions that are no code of their worker but an address: registered with an `invocation`, called by the engine over HTTP. Redirects
// are not followed. Naming a variable of the engine's environment as a secret needs the permission bus:env:<name>.
class HttpFunctions final : public Module, private OutsideFunctions {
 public:
  struct Parts {
    runtime::EventLoop& loop;
    Bus& bus;
    runtime::IdSource& ids;
    net::HttpClient& http;
  };
  HttpFunctions(Parts parts, Security security);

  Task<Result<>> start() override;
  Task<> stop() override;

 private:
  Result<LocalFunction> make(FunctionSpec spec, const json::Value& invocation, const Rights& owner) override;
  Task<Result<std::string>> call(std::shared_ptr<const Target> target, std::string id, TextCall call);

  runtime::EventLoop& loop_;
  runtime::IdSource& ids_;
  net::HttpClient& http_;
  const std::shared_ptr<const net::EgressPolicy> egress_;
};

}  // namespace chela::bus::http_functions
