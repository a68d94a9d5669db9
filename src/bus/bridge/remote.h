#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "bus/bridge/limits.h"
#include "bus/wire.h"
#include "net/websocket.h"
#include "runtime/event_loop.h"
#include "runtime/id_source.h"
#include "runtime/task_group.h"

namespace chela::bus::bridge {

// A call of a function of the other engine. Texts are JSON and plain trace context.
struct RemoteCall {
  std::string function_id;
  std::string data;
  std::string traceparent = {};
  std::string baggage = {};
  std::chrono::milliseconds timeout = kRemoteTimeout;
  std::stop_token stop = {};
};

// A call that the other engine makes here.
struct ServedCall {
  std::string data;
  std::string traceparent = {};
  std::string baggage = {};
  std::stop_token stop = {};  // the connection has ended
};
using Serve = std::function<Task<Result<std::string>>(ServedCall)>;

struct RemoteTrigger {
  std::string id;
  std::string type;
  std::string function_id;  // one that is provided there
  json::Value config;
  json::Value metadata = {};
};

// Another engine, to which this one is a worker: its functions are called, and ours are called by it. Connects anew, with a pause that
// grows, for as long as it runs, and registers again what it has; calls made meanwhile wait for the connection, those that were under
// way when it broke fail. Loop thread only. Its owner awaits stop() before it goes.
class Remote {
 public:
  using Connect = std::function<Task<Result<std::unique_ptr<net::WebSocket>>>(std::stop_token)>;
  struct Parts {
    runtime::EventLoop& loop;
    runtime::IdSource& ids;
    Connect connect;
  };
  struct Options {
    std::string where;            // names the engine in messages
    std::string name = {};        // what this worker calls itself there
    std::string service_id = {};  // "" = none
    std::string service_name = {};
  };
  Remote(Parts parts, Options options);
  Remote(const Remote&) = delete;
  Remote& operator=(const Remote&) = delete;

  void start();
  Task<> stop();

  // Gives the result as JSON, "" when there is none. Errors as Bus::call() has them; kUnavailable when the connection did not come about
  // in time or broke, kTimeout, kRateLimited past kMaxRemoteCalls.
  Task<Result<std::string>> call(RemoteCall call);
  // The same for who wants no answer: done once it is sent.
  Task<Result<>> tell(RemoteCall call);

  // Registered there from now on, again after each new connection.
  void provide(const std::string& id, std::string description, Serve serve);
  void withdraw(const std::string& id);
  void bind(RemoteTrigger trigger);
  void release(const std::string& trigger_id);

  bool connected() const { return connected_; }
  size_t open_calls() const { return calls_; }
  const Options& options() const { return options_; }

 private:
  struct Function {
    std::string description;
    std::shared_ptr<const Serve> serve;
  };
  using Answer = runtime::Completion<Result<std::string>>;

  Task<> run();
  Task<> attend(net::WebSocket& socket);
  void greeted(Envelope& frame);
  void handle(std::string_view text);
  void answered(Envelope& frame);
  void begin(Envelope& frame);
  Task<> serve(std::shared_ptr<const Serve> serve, ServedCall call, std::string id, std::string function_id,
               std::uint64_t connection);
  void disconnected();
  void send(const TextParts& frame);
  void send(std::string_view frame) { send(TextParts{.before = frame}); }
  Task<Result<>> wait_connected(std::stop_token stop);
  Error not_there() const;

  runtime::EventLoop& loop_;
  runtime::IdSource& ids_;
  const Connect connect_;
  const Options options_;
  Scanner scanner_;
  runtime::TaskGroup tasks_;
  std::map<std::string, Function, std::less<>> functions_;
  std::map<std::string, RemoteTrigger, std::less<>> triggers_;
  std::map<std::string, Answer, std::less<>> pending_;
  std::vector<runtime::Completion<bool>> waiting_;  // for the connection
  net::WebSocket* socket_ = nullptr;
  bool connected_ = false;        // greeted
  std::uint64_t connection_ = 0;  // counts them
  std::stop_source connection_ended_;
  std::string worker_id_;  // there, of this connection or the last
  std::string reattach_token_;
  std::string problem_;  // why there is no connection
  size_t calls_ = 0;
  size_t served_ = 0;
};

}  // namespace chela::bus::bridge
