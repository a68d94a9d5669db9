#include "crypto/hash.h"

#include <sodium.h>

namespace chela::crypto {
namespace {

const unsigned char* data_of(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* data_of(std::string& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

}  // namespace

std::string to_hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string sha256(std::string_view bytes) {
  std::string digest(crypto_hash_sha256_BYTES, '\0');
  crypto_hash_sha256(data_of(digest), data_of(bytes), bytes.size());
  return digest;
}

std::string sha256_hex(std::string_view bytes) { return to_hex(sha256(bytes)); }

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, data_of(key), key.size());
  crypto_auth_hmacsha256_update(&state, data_of(bytes), bytes.size());
  std::string digest(crypto_auth_hmacsha256_BYTES, '\0');
  crypto_auth_hmacsha256_final(&state, data_of(digest));
  return digest;
}

std::string content_hash(std::string_view bytes) {
  std::string digest(32, '\0');
  crypto_generichash(data_of(digest), digest.size(), data_of(bytes), bytes.size(), nullptr, 0);
  return to_hex(digest);
}

}  // namespace chela::crypto
