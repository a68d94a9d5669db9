#pragma once

#include <string_view>

#include "base/error.h"

namespace chela::cli {

// What a person in a conversation can do about an error of this kind; "" where its message says everything.
std::string_view next_step(Code code);

}  // namespace chela::cli
