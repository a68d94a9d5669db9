#include "crypto/seal.h"

#include <sodium.h>

#include <algorithm>

#include "base/check.h"

namespace chela::crypto {
namespace {

constexpr size_t kNonceBytes = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr size_t kTagBytes = crypto_aead_xchacha20poly1305_ietf_ABYTES;
static_assert(kSealKeyBytes == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);
static_assert(kSealOverhead == kNonceBytes + kTagBytes);
static_assert(kSaltBytes == crypto_generichash_blake2b_SALTBYTES);

const unsigned char* data_of(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* data_of(char* bytes) { return reinterpret_cast<unsigned char*>(bytes); }

}  // namespace

Secret derive_key(std::string_view master, std::string_view salt, std::string_view purpose) {
  CHELA_CHECK(sodium_init() >= 0, "libsodium cannot start");
  CHELA_CHECK(salt.size() == kSaltBytes && purpose.size() <= crypto_generichash_blake2b_PERSONALBYTES,
              "salt or purpose has another size");
  std::string personal(purpose);
  personal.resize(crypto_generichash_blake2b_PERSONALBYTES, '\0');
  Secret key = Secret::zeroed(kSealKeyBytes);
  crypto_generichash_blake2b_salt_personal(data_of(key.data()), key.size(), data_of(master), master.size(),
                                           nullptr, 0, data_of(salt), data_of(personal));
  return key;
}

std::string seal(const Secret& key, std::string_view header, std::string_view plain) {
  CHELA_CHECK(sodium_init() >= 0 && key.size() == kSealKeyBytes, "no key to seal with");
  std::string sealed(kSealOverhead + plain.size(), '\0');
  unsigned char* nonce = data_of(sealed.data());
  randombytes_buf(nonce, kNonceBytes);
  crypto_aead_xchacha20poly1305_ietf_encrypt(nonce + kNonceBytes, nullptr, data_of(plain), plain.size(),
                                             data_of(header), header.size(), nullptr, nonce,
                                             data_of(key.view()));
  return sealed;
}

std::optional<Secret> open_sealed(const Secret& key, std::string_view header, std::string_view sealed) {
  CHELA_CHECK(sodium_init() >= 0 && key.size() == kSealKeyBytes, "no key to open with");
  if (sealed.size() < kSealOverhead) return std::nullopt;
  Secret plain = Secret::zeroed(sealed.size() - kSealOverhead);
  const unsigned char* nonce = data_of(sealed);
  const int opened = crypto_aead_xchacha20poly1305_ietf_decrypt(
      data_of(plain.data()), nullptr, nullptr, nonce + kNonceBytes, sealed.size() - kNonceBytes,
      data_of(header), header.size(), nonce, data_of(key.view()));
  if (opened != 0) return std::nullopt;
  return plain;
}

}  // namespace chela::crypto
