// HTTP/1.1 requests at a fixed rate, or one after the other: each is due at its time whatever became of those before it, and its latency counts
// from then, so that a server that falls behind cannot hide it. One thread. Prints one JSON object; an answer other than 200 ends the run.
// Usage: bench__http_rate --port N --path P --rate R --seconds S [--connections C] [--token T] [--body TEXT]; --rate 0: one after the other

#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>

#include <deque>
#include <vector>

#include "base/strings.h"
#include "bench/closed_loop.h"

namespace chela::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kChunk = 64 * 1024;
constexpr std::string_view kLastChunk = "\r\n0\r\n\r\n";
constexpr std::string_view kEvent = "data: ";

size_t count(std::string_view text, std::string_view what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + what.size()))
    ++found;
  return found;
}

// A connection with at most one request under way.
class Client {
 public:
  explicit Client(int port) : fd_(connect_to(port)) {
    if (fd_ < 0) die("cannot connect");
  }
  ~Client() { ::close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  int fd() const { return fd_; }
  Clock::time_point due() const { return due_; }

  void send(std::string_view request, Clock::time_point due) {
    due_ = due;
    in_.clear();
    if (::send(fd_, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
      throw std::runtime_error("the connection broke");
  }

  // Reads what is there. True when the answer is whole.
  bool read() {
    const size_t before = in_.size();
    in_.resize(before + kChunk);
    const ssize_t n = ::recv(fd_, in_.data() + before, kChunk, MSG_DONTWAIT);
    in_.resize(before + static_cast<size_t>(std::max<ssize_t>(n, 0)));
    if (n == 0 || (n < 0 && errno != EAGAIN)) throw std::runtime_error("the connection ended");
    return whole();
  }
  size_t events() const { return count(in_, kEvent); }

 private:
  bool whole() const {
    const size_t end = in_.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    if (!in_.starts_with("HTTP/1.1 200")) throw std::runtime_error(in_);
    const std::string head = strings::lower(std::string_view(in_).substr(0, end));
    const size_t at = head.find("content-length:");
    if (at == std::string::npos) return in_.ends_with(kLastChunk);
    return in_.size() >= end + 4 + std::strtoul(head.c_str() + at + 15, nullptr, 10);
  }

  const int fd_;
  std::string in_;
  Clock::time_point due_;
};

class Load {
 public:
  explicit Load(const Options& options)
      : port_(static_cast<int>(options.number("--port"))),
        rate_(options.number("--rate")),
        connections_(rate_ == 0 ? 1 : std::max<size_t>(1, options.number("--connections"))),
        seconds_(options.seconds()),
        poll_(::epoll_create1(EPOLL_CLOEXEC)) {
    const std::string body = options.text("--body");
    request_ = fmt::format(
        "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        "Authorization: Bearer {}\r\nContent-Length: {}\r\n\r\n{}",
        options.text("--path"), options.text("--token"), body.size(), body);
    ::prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  }
  ~Load() { ::close(poll_); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  json::Value run() {
    start_ = Clock::now();
    const Clock::time_point end = after(seconds_);
    Clock::time_point next = start_;
    while (true) {
      const Clock::time_point now = Clock::now();
      while (rate_ > 0 && next <= now && next < end) {
        waiting_.push_back(next);
        ++due_;
        next = after(static_cast<double>(due_) / static_cast<double>(rate_));
      }
      if (rate_ == 0 && busy_ == 0 && now < end) waiting_.push_back(now);
      while (!waiting_.empty() && start()) {
      }
      if (now >= end && busy_ == 0 && waiting_.empty()) break;
      wait(rate_ > 0 && next < end ? next : now < end ? end : now + std::chrono::seconds(1), end);
    }
    const double took = std::chrono::duration<double>(Clock::now() - start_).count();
    json::Value out = json::Value::object({{"rate", rate_},
                                           {"per_second", static_cast<double>(samples_.size()) / took},
                                           {"connections", clients_.size()}});
    if (events_ > 0) out.set("events", events_);
    out.set("latency", summary(std::move(samples_)));
    return out;
  }

 private:
  Clock::time_point after(double seconds) const {
    return start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  // Sends the first request that waits, if a connection is free.
  bool start() {
    if (free_.empty()) {
      if (clients_.size() >= connections_) return false;
      Client& made = *clients_.emplace_back(std::make_unique<Client>(port_));
      epoll_event event{.events = EPOLLIN, .data = {.ptr = &made}};
      ::epoll_ctl(poll_, EPOLL_CTL_ADD, made.fd(), &event);
      free_.push_back(&made);
    }
    Client* client = free_.back();
    free_.pop_back();
    client->send(request_, waiting_.front());
    waiting_.pop_front();
    ++busy_;
    return true;
  }

  void wait(Clock::time_point until, Clock::time_point end) {
    const auto left = std::max(until - Clock::now(), Clock::duration::zero());
    const timespec timeout{.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(left).count(),
                           .tv_nsec = (left % std::chrono::seconds(1)).count()};
    pollfd ready{.fd = poll_, .events = POLLIN, .revents = 0};
    ::ppoll(&ready, 1, &timeout, nullptr);
    epoll_event events[64];
    const int count = ::epoll_wait(poll_, events, 64, 0);
    for (int i = 0; i < count; ++i) {
      Client& client = *static_cast<Client*>(events[i].data.ptr);
      if (!client.read()) continue;
      samples_.push_back(std::chrono::duration<double, std::milli>(Clock::now() - client.due()).count());
      events_ += client.events();
      free_.push_back(&client);
      --busy_;
    }
    if (Clock::now() > end + std::chrono::milliseconds(kPatienceMs)) die("an answer is lost");
  }

  const int port_;
  const size_t rate_;
  const size_t connections_;
  const double seconds_;
  const int poll_;
  std::string request_;
  Clock::time_point start_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Client*> free_;
  std::deque<Clock::time_point> waiting_;
  size_t due_ = 0;
  size_t busy_ = 0;
  size_t events_ = 0;
  std::vector<double> samples_;
};

}  // namespace
}  // namespace chela::bench

int main(int argc, char** argv) {
  const chela::bench::Options options(argc, argv);
  return chela::bench::print_result([&options] { return chela::bench::Load(options).run(); });
}
