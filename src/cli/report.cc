#include "cli/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace chela::cli {
namespace {

using Verdict = Check::Verdict;

std::ptrdiff_t count(const std::vector<Check>& checks, Verdict verdict) {
  return std::count_if(checks.begin(), checks.end(),
                       [verdict](const Check& each) { return each.verdict == verdict; });
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "pass";
    case Verdict::kWarn:
      return "warn";
    case Verdict::kFail:
      return "fail";
    case Verdict::kSkip:
      return "skip";
  }
  return "";
}

std::string report_text(const std::vector<Check>& checks) {
  std::string out;
  for (const Check& each : checks) {
    const std::string_view word = each.verdict == Verdict::kFail ? "FAIL" : verdict_name(each.verdict);
    out += fmt::format("[{}] {}: {}\n", word, each.name, each.message);
    if (!each.next_step.empty()) out += fmt::format("       next step: {}\n", each.next_step);
  }
  return out + fmt::format("{} passed, {} to look at, {} failed, {} left out\n",
                           count(checks, Verdict::kPass), count(checks, Verdict::kWarn),
                           count(checks, Verdict::kFail), count(checks, Verdict::kSkip));
}

json::Value report_json(const std::vector<Check>& checks) {
  json::Value list = json::Value::array();
  for (const Check& each : checks) {
    json::Value item = json::Value::object(
        {{"name", each.name}, {"verdict", verdict_name(each.verdict)}, {"message", each.message}});
    if (!each.next_step.empty()) item.set("next_step", each.next_step);
    list.push_back(std::move(item));
  }
  return json::Value::object({{"checks", std::move(list)},
                              {"passed", count(checks, Verdict::kPass)},
                              {"warned", count(checks, Verdict::kWarn)},
                              {"failed", count(checks, Verdict::kFail)},
                              {"skipped", count(checks, Verdict::kSkip)}});
}

int report_exit_code(const std::vector<Check>& checks) {
  return count(checks, Verdict::kFail) == 0 ? 0 : exit_code(Code::kInternal);
}

}  // namespace chela::cli
