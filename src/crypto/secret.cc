#include "crypto/secret.h"

#include <sodium.h>

#include <algorithm>

namespace chela::crypto {

void wipe(void* bytes, size_t count) {
  if (count > 0) sodium_memzero(bytes, count);
}

void wipe(std::string& text) {
  wipe(text.data(), text.capacity());
  text.clear();
}

Secret::Secret(std::string_view bytes) : bytes_(std::make_unique<char[]>(bytes.size())), size_(bytes.size()) {
  std::copy(bytes.begin(), bytes.end(), bytes_.get());
}

Secret Secret::zeroed(size_t count) {
  Secret made;
  made.bytes_ = std::make_unique<char[]>(count);
  made.size_ = count;
  return made;
}

Secret Secret::taken_from(std::string& text) {
  Secret made(text);
  wipe(text);
  return made;
}

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this == &other) return *this;
  wipe(bytes_.get(), size_);
  bytes_ = std::move(other.bytes_);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

Secret::~Secret() { wipe(bytes_.get(), size_); }

}  // namespace chela::crypto
