#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace chela::cli {

// One thing that was looked at.
struct Check {
  enum class Verdict { kPass, kWarn, kFail, kSkip };
  std::string name;  // "database"
  Verdict verdict = Verdict::kPass;
  std::string message;
  std::string next_step = {};  // of what is not well
};

std::string_view verdict_name(Check::Verdict verdict);  // "pass", "warn", "fail", "skip"

// "[FAIL] database: it is damaged" with the next step below it, and a line that counts.
std::string report_text(const std::vector<Check>& checks);
// {"checks":[{name, verdict, message, next_step?}], "passed", "warned", "failed", "skipped"}
json::Value report_json(const std::vector<Check>& checks);
// 0, or that of an internal error when something failed.
int report_exit_code(const std::vector<Check>& checks);

}  // namespace chela::cli
