#include "agent/crash_point.h"

#ifdef CHELA_CRASH_POINTS

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>

#include "base/strings.h"

namespace chela::agent {

void crash_point(std::string_view kind, CrashSide side) {
  static const char* const wanted = std::getenv("CHELA_CRASH_AT");
  if (wanted == nullptr) return;
  static std::map<std::pair<std::string, CrashSide>, int> seen;
  const int count = ++seen[{std::string(kind), side}];
  const auto parts = strings::split(wanted, ':');
  if (parts.size() != 3 || parts[0] != kind || strings::parse_int<int>(parts[1]) != count) return;
  if (parts[2] == (side == CrashSide::kBefore ? "before" : "after")) ::kill(::getpid(), SIGKILL);
}

}  // namespace chela::agent

#else

namespace chela::agent {
void crash_point(std::string_view, CrashSide) {}
}  // namespace chela::agent

#endif
