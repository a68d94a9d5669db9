#pragma once

#include <stop_token>
#include <string>

#include "base/result.h"
#include "cli/output.h"
#include "crypto/secret.h"
#include "os/poller.h"
#include "runtime/task.h"

namespace chela::cli {

// A secret from a descriptor: of a terminal one line, asked for with `prompt` and not shown while it is typed; of anything else all of it
// without the line end at its end. kInvalidArgument when nothing comes, kTooLarge above kMaxSecretBytes, kCancelled on stop.
Task<Result<crypto::Secret>> read_secret(os::Poller& poller, int fd, std::string prompt, const Output& output,
                                         std::stop_token stop);

}  // namespace chela::cli
