// A closed-loop load of HTTP requests through a trigger: a worker provides the function of POST /echo, C connections that stay open each
// send one request after the other and wait for its answer. Prints one JSON object.
// Usage: bench__bus_http --port N --http N --token T --concurrency C --bytes B --seconds S
// Only to 127.0.0.1. An answer other than 200 ends the run.

#include <memory>

#include "base/strings.h"
#include "bench/closed_loop.h"
#include "bench/echo_worker.h"

namespace chela::bench {
namespace {

constexpr const char* kTrigger =
    R"({"type":"registertrigger","id":"echo","trigger_type":"http","function_id":"bench::echo","config":{"api_path":"echo","http_method":"POST"}})";

// Takes an answer with a Content-Length that is there whole; false when more must be read first.
bool take_answer(Connection& connection) {
  const std::string_view rest = connection.rest();
  const size_t end = rest.find("\r\n\r\n");
  if (end == std::string_view::npos) return false;
  if (!rest.starts_with("HTTP/1.1 200")) die(std::string(rest).c_str());
  const std::string head = strings::lower(rest.substr(0, end));
  const size_t at = head.find("content-length:");
  if (at == std::string::npos) die("an answer without a length");
  const size_t size = end + 4 + std::strtoul(head.c_str() + at + 15, nullptr, 10);
  if (rest.size() < size) return false;
  connection.take(size);
  return true;
}

json::Value run(const Options& options) {
  const int port = static_cast<int>(options.number("--port"));
  const int http = static_cast<int>(options.number("--http"));
  const size_t concurrency = options.number("--concurrency");
  if (port == 0 || http == 0 || concurrency == 0 || options.seconds() <= 0)
    die("see the first lines of its source for the arguments");
  const std::string body = records(options.number("--bytes"));
  const EchoWorker worker(port, options.text("--token"), R"({"status_code":200,"body":)" + body + "}",
                          {kTrigger});
  const std::string request = fmt::format(
      "POST /echo HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: "
      "{}\r\n\r\n{}",
      body.size(), body);

  std::vector<std::unique_ptr<Connection>> clients;
  std::vector<pollfd> waiting;
  for (size_t slot = 0; slot < concurrency; ++slot) {
    clients.push_back(std::make_unique<Connection>(http));
    waiting.push_back({.fd = clients.back()->fd(), .events = POLLIN, .revents = 0});
  }
  ClosedLoop loop(concurrency, options.seconds());
  const auto send = [&](size_t slot) {
    loop.begin(slot);
    clients[slot]->out() = request;
    clients[slot]->flush();
  };
  for (size_t slot = 0; slot < concurrency; ++slot) send(slot);
  while (loop.goes_on()) {
    if (::poll(waiting.data(), waiting.size(), kPatienceMs) <= 0) die("an answer is lost");
    for (size_t slot = 0; slot < concurrency; ++slot) {
      if (waiting[slot].revents == 0) continue;
      clients[slot]->fill();
      if (take_answer(*clients[slot]) && loop.finish(slot)) send(slot);
    }
  }
  json::Value result = loop.result();
  result.set("bytes", body.size());
  return result;
}

}  // namespace
}  // namespace chela::bench

int main(int argc, char** argv) {
  using namespace chela::bench;
  return print_result([options = Options(argc, argv)] { return run(options); });
}
