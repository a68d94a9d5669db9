#pragma once

#include <memory>
#include <optional>
#include <span>
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

// A request's body on its way into its channel, which may go on when the request is answered.
struct Inflow {
  std::uint64_t bytes = 0;
  std::optional<Error> cut = std::nullopt;  // why the rest does not come
  std::stop_source was_cut = {};
};

// One request on its way through middleware, condition and function. Its response is the function's value or what comes through the
// response channel, whichever begins first. Its body is read when the function asks for it. Lives in the frame of its request's handler.
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
    std::optional<Result<Payload>> value = std::nullopt;
  };
  using OnStop = std::stop_callback<std::function<void()>>;

  // Whether the request goes on; if not, it has been answered.
  Task<bool> pass_middleware(std::span<const std::string> functions);  // which outlive it
  Task<bool> pass_condition(Payload input);
  Task<> call_function(Payload input);
  Task<> answer();
  Task<> answer_from_channel(channels::ChannelPtr response);
  Task<> stream_on(channels::ChannelPtr response, std::string first);
  void answer_from_value();
  // An end of what the function was offered is asked for.
  void asked_for(channels::End remote, const channels::ChannelPtr& channel);
  bool writes() const;
  void watch_time();

  void cancel();
  void end();
  void reply(net::HttpResponse response);
  void reply_failure(const Failure& failure);
  // It was cancelled: its client has gone, or the engine stops.
  void give_up();
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
  const bool streamed_;                               // its body
  std::stop_source cancel_;                           // of what works on the request
  std::stop_source decided_;                          // the response comes from no channel any more
  OnStop on_gone_;                                    // uses both: goes before them
  OnStop on_out_of_time_;                             // so does this
  std::optional<runtime::Completion<bool>> waiting_;  // for the response's channel to be asked for
  std::optional<channels::Offer> offer_;
  std::shared_ptr<Inflow> inflow_;  // of a streamed body that is read
  std::optional<OnStop> on_cut_;
  SteadyTime began_{};                       // the function
  std::optional<runtime::TimerId> timeout_;  // of a function with a streamed body
  Outcome outcome_;
  Head head_;
  bool touched_ = false;  // the channel said something of the response
  bool answered_ = false;
};

}  // namespace chela::bus::http
