#include "cli/usage_text.h"

#include <algorithm>
#include <vector>

#include "base/utf8.h"

namespace chela::cli {
namespace {

using json::Value;
using Row = std::vector<std::string>;

// Names to the left, numbers to the right.
std::string columns(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], utf8::length(row[i]));
  }
  std::string out;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string room(widths[i] - utf8::length(row[i]), ' ');
      line += i == 0 ? row[i] + room : "  " + room + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

double number(const Value& value, std::string_view key) {
  const Value* found = value.find(key);
  return found ? found->as_double().value_or(0) : 0;
}

std::string dollars(double amount) { return fmt::format("${:.{}f}", amount, amount < 1 ? 4 : 2); }

std::string cost_of(const Value& group) {
  if (group.find("cost") == nullptr) return "unknown";
  const bool partly = group.int_or("unpriced_calls", 0) > 0;
  return dollars(number(group, "cost")) + (partly ? " and more" : "");
}

std::string amount_of(const Value& limit, std::string_view key) {
  return limit.string_or("unit") == "calls" ? fmt::to_string(limit.int_or(key, 0))
                                            : dollars(number(limit, key));
}

}  // namespace

std::string usage_text(const Value& value) {
  std::string out;
  const Value* groups = value.find("groups");
  const std::string by = value.string_or("by", "day");
  if (groups && groups->as_array() && !groups->as_array()->empty()) {
    std::vector<Row> rows{{by == "model"   ? "MODEL"
                           : by == "agent" ? "AGENT"
                                           : "DAY",
                           "CALLS", "READ", "CACHED", "WRITTEN", "COST"}};
    for (const Value& each : *groups->as_array()) {
      rows.push_back({each.string_or("name"), fmt::to_string(each.int_or("calls", 0)),
                      fmt::to_string(each.int_or("prompt_tokens", 0)),
                      fmt::to_string(each.int_or("cached_tokens", 0)),
                      fmt::to_string(each.int_or("completion_tokens", 0)), cost_of(each)});
    }
    out += columns(rows);
  } else {
    out += "nothing was used\n";
  }
  const Value* limits = value.find("limits");
  if (!limits || !limits->as_array() || limits->as_array()->empty())
    return out + "\nno limits (chela config set budget.day_cents CENTS sets one)\n";
  std::vector<Row> rows{{"LIMIT", "AMOUNT", "SPENT", "RESERVED", "LEFT", "RESETS"}};
  for (const Value& each : *limits->as_array()) {
    rows.push_back({each.string_or("limit") + (each.bool_or("hard", true) ? "" : " (warns)"),
                    amount_of(each, "amount"), amount_of(each, "spent"), amount_of(each, "reserved"),
                    amount_of(each, "left"), each.string_or("resets_at")});
  }
  return out + "\n" + columns(rows);
}

}  // namespace chela::cli
