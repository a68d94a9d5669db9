#include "crypto/random.h"

#include <sodium.h>

#include "base/base64.h"
#include "base/check.h"

namespace chela::crypto {

std::string random_bytes(size_t count) {
  // sodium_init may be called again and from any thread; it costs one atomic read then.
  CHELA_CHECK(sodium_init() >= 0, "libsodium cannot start");
  std::string bytes(count, '\0');
  randombytes_buf(bytes.data(), bytes.size());
  return bytes;
}

std::string random_token() { return base64::encode_url(random_bytes(32)); }

}  // namespace chela::crypto
