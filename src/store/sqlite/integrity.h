#pragma once

#include <string>

#include "base/result.h"

namespace chela::store::sqlite {

// Reads the whole database file and checks its structure, beside an engine that may be using it. Blocks, for a second or so per GB. kNotFound
// when there is no file; the error's message says what is wrong.
Result<> check_integrity(const std::string& path);

}  // namespace chela::store::sqlite
