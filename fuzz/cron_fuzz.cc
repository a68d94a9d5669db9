// LINK bus_cron
// Any text is a cron expression: it is refused, or its runs come in order and end.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "bus/cron/expression.h"

namespace cron = chela::bus::cron;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const chela::Result<cron::Expression> parsed = cron::Expression::parse(text);
  if (!parsed) {
    CHELA_CHECK(!parsed.error().message.empty(), "an error without a message");
    return 0;
  }
  cron::LocalSeconds from = 0;
  for (int i = 0; i < 20; ++i) {
    const std::optional<cron::LocalSeconds> found = parsed->first_at(from);
    CHELA_CHECK(found || i > 0, "an expression that was taken has no moment");
    if (!found) break;
    CHELA_CHECK(*found >= from, "time goes backward");
    CHELA_CHECK(parsed->first_at(*found) == found, "a moment that fits is not found from itself");
    from = *found + 1;
  }
  return 0;
}
