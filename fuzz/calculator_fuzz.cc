// LINK tools_builtin
// Any text is a value or an error with a message, and a value is itself an expression with that value.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "tools/builtin/calculator.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const chela::Result<std::string> value = chela::tools::calculate(text);
  if (!value) {
    CHELA_CHECK(!value.error().message.empty(), "an error says nothing");
    return 0;
  }
  CHELA_CHECK(chela::utf8::valid(*value), "a value is no text");
  const bool fits =
      value->size() <= chela::tools::kMaxExpressionBytes && !value->contains("e+") && !value->contains("e-");
  if (fits)
    CHELA_CHECK(chela::tools::calculate(*value).value_or("") == *value,
                "a value does not read back as itself");
  return 0;
}
