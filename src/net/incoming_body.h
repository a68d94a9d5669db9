#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "runtime/completion.h"
#include "runtime/event_loop.h"
#include "runtime/task.h"

namespace chela::net {

// A request's body on its way from its connection, which fills it, to whoever reads it. Loop thread only; shared by both.
class IncomingBody : public std::enable_shared_from_this<IncomingBody> {
 public:
  explicit IncomingBody(runtime::EventLoop& loop) : loop_(loop) {}

  // The connection's. `wanted` is called when a reader waits or has made room; not after the end.
  void on_wanted(std::function<void()> wanted) { wanted_ = std::move(wanted); }
  void add(std::string bytes);
  void finish() { end(std::nullopt); }
  // What has come before is lost with it.
  void cut(Error why) { end(std::move(why)); }
  size_t ahead() const { return bytes_.size(); }

  // The reader's: what has come since, nothing after the end, the error that it failed with, kCancelled on stop. One at a time.
  Task<Result<std::optional<std::string>>> read(std::stop_token stop);

 private:
  void end(std::optional<Error> why);
  void wake();

  runtime::EventLoop& loop_;
  std::function<void()> wanted_;
  std::string bytes_;
  bool over_ = false;
  std::optional<Error> failed_;
  std::optional<runtime::Completion<bool>> reader_;
};

}  // namespace chela::net
