#pragma once

#include <string_view>

namespace chela {

// Writes the place and the message to stderr and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, std::string_view message);

}  // namespace chela

// For what cannot happen. Nothing that comes from outside may reach one: such input gets an Error.
#define CHELA_CHECK(condition, message)                               \
  do {                                                                \
    if (!(condition)) [[unlikely]]                                    \
      ::chela::check_failed(__FILE__, __LINE__, #condition, message); \
  } while (false)
