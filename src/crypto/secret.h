#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace chela::crypto {

// Overwrites bytes in a way that the compiler does not leave out. Thread-safe.
void wipe(void* bytes, size_t count);
void wipe(std::string& text);  // and empties it

// Bytes that are overwritten when they go. Not copied unless asked for, and never resized: no part stays behind somewhere.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string_view bytes);
  static Secret zeroed(size_t count);
  // Takes the bytes over and wipes where they came from.
  static Secret taken_from(std::string& text);

  Secret(Secret&& other) noexcept : bytes_(std::move(other.bytes_)), size_(std::exchange(other.size_, 0)) {}
  Secret& operator=(Secret&& other) noexcept;
  ~Secret();

  Secret copy() const { return Secret(view()); }
  std::string_view view() const { return {bytes_.get(), size_}; }
  char* data() { return bytes_.get(); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  std::unique_ptr<char[]> bytes_;
  size_t size_ = 0;
};

}  // namespace chela::crypto
