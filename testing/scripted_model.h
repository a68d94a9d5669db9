#pragma once

#include <deque>
#include <memory>
#include <string>

#include "net/http_server.h"
#include "runtime/asio_loop.h"
#include "testing/scripted_wire.h"

namespace chela::testing {

struct RecordedRequest {
  std::string path;
  std::string peer;  // the same for requests of one connection
  net::Headers headers;
  json::Value body;
};

// A server of models whose answers are written beforehand, over the protocols of scripted_wire.h: for tests, in the test's own process or as the program
// scripted-model, and for benchmarks. Requests are kept so that a test can look at what the engine sent.
// Loop thread only. The owner awaits stop() before it destroys it.
class ScriptedModel {
 public:
  explicit ScriptedModel(runtime::AsioLoop& loop);

  Result<> load(std::string script);  // replaces the script; the old one stays when this one is wrong
  void reset();                       // forgets the requests and begins the script again

  Result<std::uint16_t> listen_tcp(std::uint16_t port);
  Result<> listen_unix(const std::string& path);
  Task<> stop();

  const std::deque<RecordedRequest>& requests() const { return requests_; }
  size_t request_count() const { return count_; }
  std::string base_url() const;  // of the TCP port

 private:
  using Exchange = std::shared_ptr<net::Exchange>;

  Task<> handle(Exchange exchange);
  Task<> chat(Exchange exchange, Wire wire);
  Task<> stream(Exchange exchange, Reply reply, std::vector<std::string> events);
  Task<Result<>> write(Exchange exchange, std::string_view bytes, size_t piece);
  void chat_instantly(net::Exchange& exchange);
  void embeddings(net::Exchange& exchange);
  void models(net::Exchange& exchange);
  void control(net::Exchange& exchange);
  void record(const net::HttpRequest& request, json::Value body);
  void prepare_instant();
  json::Value recorded_json() const;

  runtime::AsioLoop& loop_;
  net::HttpServer server_;
  std::string script_text_ = "{}";
  Script script_;
  std::deque<RecordedRequest> requests_;
  size_t count_ = 0;
  std::uint16_t port_ = 0;
  std::string instant_stream_;
  std::string instant_whole_;
};

}  // namespace chela::testing
