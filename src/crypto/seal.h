#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "crypto/secret.h"

// Sealing: what is sealed can neither be read nor changed without the key. XChaCha20-Poly1305 with a random nonce, so that one key
// seals any number of texts.
namespace chela::crypto {

inline constexpr size_t kSealKeyBytes = 32;
inline constexpr size_t kSealOverhead = 24 + 16;  // the nonce before, the tag behind
inline constexpr size_t kSaltBytes = 16;

// A key of kSealKeyBytes from a master key that nobody can guess (it is not stretched: a person's password is none). Another salt
// (kSaltBytes) or purpose (at most 16 bytes) is another key.
Secret derive_key(std::string_view master, std::string_view salt, std::string_view purpose);

// nonce || ciphertext || tag. `header` is bound to it, but not part of it.
std::string seal(const Secret& key, std::string_view header, std::string_view plain);

// Nothing when the key, the header or any byte is another one.
std::optional<Secret> open_sealed(const Secret& key, std::string_view header, std::string_view sealed);

}  // namespace chela::crypto
