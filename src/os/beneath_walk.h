#pragma once

#include <sys/types.h>

#include <string_view>

#include "os/fd.h"

namespace chela::os {

// openat2(RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS) for kernels and containers without that call: walks the path itself and never lets the
// kernel follow a link. An invalid Fd leaves the reason in errno, EXDEV for a path that leads out.
Fd open_by_walking(int root, std::string_view path, int flags, mode_t mode);

}  // namespace chela::os
