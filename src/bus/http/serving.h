#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bus/http/failure.h"
#include "bus/http/http_module.h"
#include "bus/http/message.h"
#include "runtime/stop_scope.h"

namespace chela::bus::http {

// One of the places of those that are served at once; given back when this goes.
class Permit {
 public:
  explicit Permit(runtime::Semaphore& permits) : permits_(&permits) {}
  Permit(Permit&& other) noexcept : permits_(std::exchange(other.permits_, nullptr)) {}
  Permit& operator=(Permit&&) = delete;
  ~Permit() { release(); }
  void release() {
    if (permits_ != nullptr) std::exchange(permits_, nullptr)->release();
  }

 private:
  runtime::Semaphore* permits_;
};

// One request on its way through middleware, condition and function. Its response is the function's value or what comes through the
// response channel, whichever begins first. Lives in the frame of its request's handler.
class Serving {
 public:
  Serving(HttpModule& module, std::shared_ptr<net::Exchange> exchange, Routes::Match match, Permit permit);
  ~Serving();
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

  Task<> run();

 private:
  // How the function's call ended.
  struct Outcome {
    bool over = false;
    std::optional<Result<json::Value>> value = std::nullopt;
  };

  // Whether the request goes on; if not, it has been answered.
  Task<bool> pass_middleware(std::vector<std::string> functions);
  Task<bool> pass_condition(Payload input);
  Task<> call_function(Payload input);
  Task<> answer_from_channel();
  Task<> stream_on(std::string first);
  void answer_from_value();

  void end();
  void reply(net::HttpResponse response);
  void reply_failure(const Failure& failure);
  // Its message stays in the log under an id that the client is told.
  void reply_error(const Error& error, std::string_view what);
  void reply_bad_response(const Error& error);
  std::string logged(const Error& error);
  FireOptions fire_options();
  SteadyTime deadline() const;

  HttpModule& module_;
  const std::shared_ptr<net::Exchange> exchange_;
  const Routes::Match match_;
  Permit permit_;
  channels::ChannelPtr body_;
  channels::ChannelPtr response_;
  std::stop_source cancel_;  // of what works on the request
  std::stop_callback<std::function<void()>> on_gone_;
  std::stop_source decided_;  // the function's end settles the response
  Outcome outcome_;
  Head head_;
  bool touched_ = false;  // the channel said something of the response
  bool answered_ = false;
};

}  // namespace chela::bus::http
