// A closed-loop HTTP/1.1 load: C connections, each sends one POST after the other and waits for its answer. Prints one JSON object.
// Usage: bench__http_load --port N --path P --concurrency C --seconds S [--token T] [--body TEXT]
// Only to 127.0.0.1. An answer other than 200 ends the run with an error.

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "base/strings.h"
#include "bench/arguments.h"
#include "bench/statistics.h"

namespace chela::bench {
namespace {

// Reads one answer with a Content-Length; gives its status, 0 when the connection ended.
int read_answer(int fd, std::string& buffer) {
  char chunk[16384];
  while (true) {
    const size_t end = buffer.find("\r\n\r\n");
    if (end != std::string::npos) {
      const std::string head = strings::lower(std::string_view(buffer).substr(0, end));
      const size_t at = head.find("content-length:");
      const size_t length =
          at == std::string::npos ? 0 : static_cast<size_t>(std::atol(head.c_str() + at + 15));
      if (buffer.size() >= end + 4 + length) {
        const int status = std::atoi(buffer.c_str() + 9);
        buffer.erase(0, end + 4 + length);
        return status;
      }
    }
    const ssize_t n = ::recv(fd, chunk, sizeof chunk, 0);
    if (n <= 0) return 0;
    buffer.append(chunk, static_cast<size_t>(n));
  }
}

struct Load {
  int port = 0;
  std::string request;
  std::chrono::steady_clock::time_point end;
  std::mutex mutex;
  std::vector<double> latencies;
  std::atomic<int> failed_status = -1;

  void client() {
    const int fd = connect_to(port);
    std::vector<double> own;
    std::string buffer;
    while (fd >= 0 && failed_status < 0 && std::chrono::steady_clock::now() < end) {
      const auto start = std::chrono::steady_clock::now();
      if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
        break;
      const int status = read_answer(fd, buffer);
      if (status != 200) {
        failed_status = status;
        break;
      }
      own.push_back(
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    if (fd < 0) failed_status = 0;
    if (fd >= 0) ::close(fd);
    const std::lock_guard lock(mutex);
    latencies.insert(latencies.end(), own.begin(), own.end());
  }
};

int run(std::map<std::string, std::string> options) {
  Load load;
  load.port = std::atoi(options["--port"].c_str());
  const int concurrency = std::max(1, std::atoi(options["--concurrency"].c_str()));
  const double seconds = std::atof(options["--seconds"].c_str());
  const std::string& body = options["--body"];
  load.request = fmt::format(
      "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
      options["--path"], body.size());
  if (!options["--token"].empty())
    load.request += fmt::format("Authorization: Bearer {}\r\n", options["--token"]);
  load.request += "\r\n" + body;
  const auto start = std::chrono::steady_clock::now();
  load.end =
      start + std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
  std::vector<std::thread> clients;
  for (int i = 0; i < concurrency; ++i) clients.emplace_back([&load] { load.client(); });
  for (std::thread& thread : clients) thread.join();
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (load.failed_status >= 0) {
    std::fprintf(stderr, "bench__http_load: an answer had status %d\n", load.failed_status.load());
    return 1;
  }
  json::Value out = json::Value::object(
      {{"concurrency", concurrency}, {"per_second", static_cast<double>(load.latencies.size()) / took}});
  out.set("latency", summary(std::move(load.latencies)));
  std::printf("%s\n", json::write(out).c_str());
  return 0;
}

}  // namespace
}  // namespace chela::bench

int main(int argc, char** argv) {
  std::map<std::string, std::string> options;
  for (int i = 1; i + 1 < argc; i += 2) options[argv[i]] = argv[i + 1];
  return chela::bench::run(std::move(options));
}
