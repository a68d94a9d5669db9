#pragma once

#include <cstddef>
#include <string>

namespace chela::crypto {

// Bytes of the kernel's generator, fit for secrets. Thread-safe.
std::string random_bytes(size_t count);

// 32 random bytes as 43 characters of url-safe base64: a secret that nobody guesses.
std::string random_token();

}  // namespace chela::crypto
