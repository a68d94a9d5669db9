#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "bus/cron/expression.h"

namespace chela::bus::cron {

// The first moment after `after` at which a job runs by the clock of an IANA zone; nothing when there is none any more. Where clocks are
// put forward, a job of a time of day that is left out runs at the change; where they are put back, it runs the first time only. A job
// that runs every hour just goes on. An unknown zone is kNotFound. Reads the zone's data on its first use.
Result<std::optional<UnixMs>> next_run(const Expression& expression, std::string_view zone, UnixMs after);

}  // namespace chela::bus::cron
