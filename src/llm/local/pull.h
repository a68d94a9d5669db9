#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/poller.h"
#include "runtime/task.h"

namespace chela::llm::local {

struct PullOptions {
  std::string script;      // share/models/pull_local_small.py
  std::string models_dir;  // created when missing
};

// One line of progress, for people.
using PullProgress = std::function<void(std::string_view line)>;

// Fetches the files of local/small; again: checks them and does nothing. kUnavailable with the script's own last line when it fails,
// kCancelled on stop (what is complete stays).
Task<Result<>> pull(os::Poller& poller, PullOptions options, PullProgress progress, std::stop_token stop);

}  // namespace chela::llm::local
