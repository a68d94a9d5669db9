#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "bus/bus.h"
#include "bus/channels/channels.h"
#include "bus/http/cors.h"
#include "bus/http/limits.h"
#include "bus/http/route.h"
#include "bus/module.h"
#include "net/http_server.h"
#include "runtime/asio_loop.h"
#include "runtime/mutex.h"
#include "runtime/task_group.h"

namespace chela::bus::http {

struct HttpOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 3111;
  std::chrono::milliseconds timeout =
      kDefaultTimeout;  // of each function that is asked, until its response begins
  size_t concurrency = kDefaultConcurrency;
  CorsOptions cors = {};
  std::vector<std::string> middleware = {};  // functions that every request is shown to, in order

  static Result<HttpOptions> read(const json::Value& config);
};

struct HttpParts {
  runtime::AsioLoop& loop;
  Bus& bus;
  channels::Channels& channels;
  runtime::IdSource& ids;
};

// How modules::api::RestApiModule (iii-http) is made.
ModuleKind kind();

// Functions behind HTTP routes: the trigger type "http". A route is there from the moment its trigger is bound until it is released.
class HttpModule final : public Module, private TriggerProvider {
 public:
  static Result<std::unique_ptr<HttpModule>> create(HttpParts parts, HttpOptions options);
  ~HttpModule() override;

  Task<Result<>> start() override;
  Task<> stop() override;
  json::Value status() const override;

 private:
  friend class Serving;

  HttpModule(HttpParts parts, HttpOptions options);

  Result<> bind(BoundTriggerPtr trigger) override;
  void release(const BoundTrigger& trigger) override;

  Task<> handle(std::shared_ptr<net::Exchange> exchange);

  runtime::EventLoop& loop_;
  Bus& bus_;
  channels::Channels& channels_;
  runtime::IdSource& ids_;
  const HttpOptions options_;
  const Cors cors_;
  Routes routes_;
  Scanner scanner_;
  runtime::Semaphore permits_;
  runtime::TaskGroup bodies_;  // what still goes into channels
  std::uint16_t port_ = 0;
  bool stopping_ = false;
  std::stop_source out_of_time_;  // of what is under way while it stops
  net::HttpServer server_;
};

}  // namespace chela::bus::http
