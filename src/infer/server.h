// The HTTP side of chela-infer: OpenAI's routes on one Unix socket, inference on one thread behind a short queue.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "infer/limits.h"
#include "infer/model_host.h"
#include "net/http_server.h"
#include "runtime/asio_loop.h"
#include "runtime/completion.h"
#include "runtime/id_source.h"
#include "runtime/pool.h"

namespace chela::infer {

struct ServerOptions {
  ModelHostOptions host;
  std::chrono::seconds idle = kDefaultIdle;
  std::size_t queue = kMaxQueuedRequests;  // requests that wait for the inference thread
};

// Loop thread only, except where a comment says otherwise. Owned by main(), which awaits run() and then destroys it.
class Server {
 public:
  Server(runtime::AsioLoop& loop, ServerOptions options);
  ~Server();

  Result<> listen(const std::string& socket);
  // Serves until stop() or until no chat or embedding was asked for during the idle time. Then nothing runs any more.
  Task<> run();
  void stop();

 private:
  struct ChatJob;

  Task<> handle(std::shared_ptr<net::Exchange> exchange);
  Task<> chat(std::shared_ptr<net::Exchange> exchange);
  Task<> embeddings(std::shared_ptr<net::Exchange> exchange);
  Result<Answer> run_chat(const ChatRequest& request, const TextSink& sink,
                          const std::stop_token& stop);  // inference thread
  void begin_work();
  void end_work();
  void check_idle();

  runtime::AsioLoop& loop_;
  ServerOptions options_;
  runtime::RandomIdSource ids_;
  ModelHost host_;
  SmallModel small_;
  runtime::Completion<bool> finished_;
  std::size_t working_ = 0;
  SteadyTime last_work_;
  runtime::TimerId idle_timer_ = 0;
  runtime::Pool inference_;  // joined before the models go
  net::HttpServer http_;
};

}  // namespace chela::infer
