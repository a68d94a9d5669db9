// The load of bench__bus_load on a NATS server: one connection answers requests, one sends them with C under way. Prints one JSON object.
// Usage: bench__nats_load --port N --concurrency C --bytes B --seconds S
// Only to 127.0.0.1.

#include <optional>
#include <thread>

#include "bench/closed_loop.h"
#include "bench/echo_worker.h"

namespace chela::bench {
namespace {

constexpr std::string_view kInbox = "_INBOX.bench.";

struct Message {
  std::string_view subject;
  std::string_view reply;  // "" for none
};

// A client that speaks the protocol's text as fast as it can.
class NatsPeer {
 public:
  // Ready when the server has heard of the subscription.
  NatsPeer(int port, std::string_view subject) : connection_(port) {
    connection_.out() = "CONNECT {\"verbose\":false,\"pedantic\":false}\r\nSUB ";
    connection_.out() += subject;
    connection_.out() += " 1\r\nPING\r\n";
    connection_.flush();
    while (connection_.rest().find("PONG\r\n") == std::string_view::npos) connection_.fill();
    connection_.take(connection_.rest().size());
  }

  void publish(std::string_view subject, std::string_view reply, std::string_view data) {
    std::string& out = connection_.out();
    out += "PUB ";
    out += subject;
    if (!reply.empty()) (out += ' ') += reply;
    out += ' ';
    out += std::to_string(data.size());
    out += "\r\n";
    out += data;
    out += "\r\n";
  }

  // MSG subject sid [reply] size CRLF data CRLF, when it is there whole.
  std::optional<Message> next() {
    for (;;) {
      const std::string_view rest = connection_.rest();
      const size_t end = rest.find("\r\n");
      if (end == std::string_view::npos) return std::nullopt;
      const std::string_view line = rest.substr(0, end);
      if (!line.starts_with("MSG ")) {
        if (line.starts_with("-ERR")) die(std::string(line).c_str());
        if (line == "PING") connection_.out() += "PONG\r\n";
        connection_.take(end + 2);
        continue;
      }
      const size_t size_at = line.rfind(' ') + 1;
      const size_t whole = end + 2 + std::strtoul(line.data() + size_at, nullptr, 10) + 2;
      if (rest.size() < whole) return std::nullopt;
      connection_.take(whole);
      const std::string_view words = line.substr(4, size_at - 5);  // subject sid [reply]
      const size_t first = words.find(' ');
      const size_t second = words.find(' ', first + 1);
      return Message{.subject = words.substr(0, first),
                     .reply = second == std::string_view::npos ? "" : words.substr(second + 1)};
    }
  }

  void flush() { connection_.flush(); }
  void fill() { connection_.fill(); }
  void shut() { connection_.shut(); }

 private:
  Connection connection_;
};

// What answers requests while a run lasts, by a thread of its own.
class Responder {
 public:
  Responder(int port, std::string data) : peer_(port, "bench"), data_(std::move(data)) {
    thread_ = std::thread([this] { serve(); });
  }
  ~Responder() {
    peer_.shut();
    thread_.join();
  }
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;

 private:
  void serve() {
    try {
      for (;;) {
        while (const std::optional<Message> message = peer_.next()) peer_.publish(message->reply, "", data_);
        peer_.flush();
        peer_.fill();
      }
    } catch (const std::runtime_error&) {
      return;  // the run is over
    }
  }

  NatsPeer peer_;
  const std::string data_;
  std::thread thread_;
};

json::Value run(const Options& options) {
  const int port = static_cast<int>(options.number("--port"));
  const size_t concurrency = options.number("--concurrency");
  if (port == 0 || concurrency == 0 || options.seconds() <= 0)
    die("see the first lines of its source for the arguments");
  const std::string data = records(options.number("--bytes"));
  const Responder responder(port, data);
  NatsPeer requester(port, std::string(kInbox) + "*");
  ClosedLoop loop(concurrency, options.seconds());
  const auto send = [&](size_t slot) {
    loop.begin(slot);
    requester.publish("bench", std::string(kInbox) + std::to_string(slot), data);
  };
  for (size_t slot = 0; slot < concurrency; ++slot) send(slot);
  while (loop.goes_on()) {
    requester.flush();
    requester.fill();
    while (const std::optional<Message> message = requester.next()) {
      const size_t slot = std::strtoul(message->subject.data() + kInbox.size(), nullptr, 10);
      if (loop.finish(slot)) send(slot);
    }
  }
  json::Value result = loop.result();
  result.set("bytes", data.size());
  return result;
}

}  // namespace
}  // namespace chela::bench

int main(int argc, char** argv) {
  using namespace chela::bench;
  return print_result([options = Options(argc, argv)] { return run(options); });
}
