#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"

namespace chela::os {

// How many names are tried before a folder counts as full of what earlier processes left behind.
inline constexpr int kMaxTemporaryNames = 16;

struct TemporaryFile {
  Fd fd;
  std::string name;
};

std::uint64_t random_number();

// A new file in the directory, for what shall take the place of `name`. What a crash left there may have any name, also one that this
// process would choose: names come from `random`, and one that is taken is passed over.
Result<TemporaryFile> create_temporary(int directory, std::string_view name, mode_t mode,
                                       const std::function<std::uint64_t()>& random = random_number);

}  // namespace chela::os
