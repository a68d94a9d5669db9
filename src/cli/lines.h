#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "os/poller.h"
#include "runtime/task.h"

namespace chela::cli {

// What a person types, line by line.
class Lines {
 public:
  virtual ~Lines() = default;
  // Without its line end; nothing at the end of the input or on stop.
  virtual Task<Result<std::optional<std::string>>> next(std::stop_token stop) = 0;
};

// Whether epoll can wait for the descriptor: files are always ready.
bool can_be_polled(int fd);

// Lines of a descriptor: a terminal, a pipe or a file. The descriptor stays the caller's.
class DescriptorLines final : public Lines {
 public:
  DescriptorLines(os::Poller& poller, int fd);
  Task<Result<std::optional<std::string>>> next(std::stop_token stop) override;

 private:
  std::optional<std::string> take_line();

  os::Poller& poller_;
  const int fd_;
  const bool waits_;  // files are always ready and cannot be polled
  std::string buffer_;
  bool ended_ = false;
};

}  // namespace chela::cli
