#pragma once

#include <fmt/format.h>

#include <expected>
#include <utility>

#include "base/error.h"

namespace chela {

template <class T = void>
using Result = std::expected<T, Error>;

using Failure = std::unexpected<Error>;

// `return fail(Code::kNotFound, "no thread {}", id);`
template <class... Args>
Failure fail(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return Failure(Error{.code = code, .message = fmt::format(format, std::forward<Args>(args)...)});
}

// Passes an error on to a caller whose result has another type.
inline Failure fail(Error error) { return Failure(std::move(error)); }

}  // namespace chela
