#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "bus/bridge/remote.h"
#include "testing/manual_loop.h"

namespace chela::bus::bridge {

// The other engine of tests: what a Remote sends lies in `got`, say() is what it hears. Each connection greets at once.
class FakeEngine {
 public:
  explicit FakeEngine(runtime::EventLoop& loop) : loop_(loop) {}

  Remote::Connect connector() {
    return [this](std::stop_token) { return accept(); };
  }
  void say(const json::Value& frame) {
    if (line_ == nullptr) return;
    line_->heard.push_back(json::write(frame));
    line_->wake();
  }
  void answer(const json::Value& call, json::Value result) {
    say(json::Value::object({{"type", "invocationresult"},
                             {"invocation_id", call.string_or("invocation_id")},
                             {"function_id", call.string_or("function_id")},
                             {"result", std::move(result)}}));
  }
  void cut() {
    if (line_ != nullptr) line_->end();
  }
  // The oldest frame of a type; null when there is none.
  json::Value next(std::string_view type) {
    for (auto it = got.begin(); it != got.end(); ++it) {
      if (it->string_or("type") != type) continue;
      json::Value frame = std::move(*it);
      got.erase(it);
      return frame;
    }
    return {};
  }

  std::deque<json::Value> got;
  bool reachable = true;
  bool full = false;  // takes no more frames
  int connections = 0;

 private:
  struct Line {
    explicit Line(runtime::EventLoop& l) : loop(l) {}
    void wake() {
      if (waiter) waiter->resolve(true);
    }
    void end() {
      closed = true;
      wake();
    }
    runtime::EventLoop& loop;
    std::deque<std::string> heard;
    bool closed = false;
    std::optional<runtime::Completion<bool>> waiter;
  };

  class Socket final : public net::WebSocket {
   public:
    Socket(FakeEngine& engine, std::shared_ptr<Line> line) : engine_(engine), line_(std::move(line)) {}
    Result<> send_text(std::string_view text) override {
      if (line_->closed || engine_.full) return fail(Code::kUnavailable, "the peer reads too slowly");
      engine_.got.push_back(*json::parse(text));
      return {};
    }
    Result<> send_binary(std::string_view) override { return {}; }
    Task<Result<std::optional<net::Message>>> receive(std::stop_token stop) override {
      const std::shared_ptr<Line> line = line_;
      while (line->heard.empty()) {
        if (line->closed) co_return std::nullopt;
        if (stop.stop_requested()) co_return fail(Code::kCancelled, "cancelled");
        line->waiter.emplace(line->loop);
        const runtime::Completion<bool> woken = *line->waiter;
        const std::stop_callback on_stop(stop, [woken] { woken.resolve(false); });
        co_await woken;
      }
      net::Message message{.data = std::move(line->heard.front())};
      line->heard.pop_front();
      co_return message;
    }
    void close(std::uint16_t, std::string_view) override { line_->end(); }
    size_t pending() const override { return 0; }
    Task<Result<>> drained(size_t, std::stop_token) override { co_return Result<>(); }

   private:
    FakeEngine& engine_;
    const std::shared_ptr<Line> line_;
  };

  Task<Result<std::unique_ptr<net::WebSocket>>> accept() {
    ++connections;
    if (!reachable) co_return fail(Code::kUnavailable, "nobody can be reached");
    line_ = std::make_shared<Line>(loop_);
    say(json::Value::object({{"type", "workerregistered"},
                             {"worker_id", fmt::format("w{}", connections)},
                             {"reattach_token", fmt::format("t{}", connections)}}));
    co_return std::make_unique<Socket>(*this, line_);
  }

  runtime::EventLoop& loop_;
  std::shared_ptr<Line> line_;
};

}  // namespace chela::bus::bridge
