#include <algorithm>

#include "agent/traces/trace.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/setting_texts.h"
#include "cli/thread_list.h"
#include "cli/usage_text.h"

// The texts that people read of operations' values.
namespace chela::cli {
namespace {

using json::Value;
using Row = std::vector<std::string>;

constexpr size_t kMaxCell = 60;

std::string cell(const Value& row, std::string_view key) {
  const Value* value = row.find(key);
  if (!value || value->is_null()) return {};
  std::string text = value->as_string() ? *value->as_string() : json::write(*value);
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.size() <= kMaxCell) return text;
  return std::string(utf8::prefix(text, kMaxCell)) + "...";
}

std::string table(const Row& head, const std::vector<Row>& rows) {
  std::vector<size_t> widths(head.size());
  for (size_t i = 0; i < head.size(); ++i) {
    widths[i] = head[i].size();
    for (const Row& row : rows) widths[i] = std::max(widths[i], utf8::length(row[i]));
  }
  std::string out;
  const auto add = [&](const Row& row) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line += std::string(widths[i] - utf8::length(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  add(head);
  for (const Row& row : rows) add(row);
  return out;
}

// A list of objects (the value itself without a key) as a table of these members.
std::string list(const Value& value, std::string_view key, const Row& head,
                 const std::vector<std::string_view>& members) {
  std::vector<Row> rows;
  const Value* items = key.empty() ? &value : value.find(key);
  if (!items || !items->is_array() || items->as_array()->empty()) return "none\n";
  for (const Value& item : *items->as_array()) {
    Row row;
    for (const std::string_view member : members) row.push_back(cell(item, member));
    rows.push_back(std::move(row));
  }
  return table(head, rows);
}

std::string history(const Value& value) {
  std::string out;
  const Value* turns = value.find("turns");
  if (turns && turns->is_array()) {
    for (const Value& turn : *turns->as_array()) {
      out += "> " + turn.string_or("user_input") + "\n";
      const std::string response = turn.string_or("response");
      out += (response.empty() ? "[" + turn.string_or("state") + "] " + turn.string_or("error") : response) +
             "\n\n";
    }
  }
  if (const Value* pending = value.find("pending_approval")) {
    out += "waits for approval: " + pending->string_or("tool_name") + " " + pending->string_or("parameters") +
           "\n";
  }
  return out.empty() ? "no turns yet\n" : out;
}

std::string replay(const Value& value) {
  std::string out =
      fmt::format("{} records: {} effects and {} model requests compared\n", value.int_or("records", 0),
                  value.int_or("effects", 0), value.int_or("requests", 0));
  const Value* differences = value.find("differences");
  if (!differences || !differences->is_array() || differences->as_array()->empty())
    return out + "no difference\n";
  for (const Value& each : *differences->as_array())
    out += "differs: " + (each.as_string() ? *each.as_string() : json::write(each)) + "\n";
  return out;
}

std::string models(const Value& value) {
  std::string out = fmt::format("backend {}\n", value.string_or("backend"));
  if (const Value* items = value.find("models"); items && items->is_array()) {
    for (const Value& each : *items->as_array())
      out += (each.bool_or("default", false) ? "* " : "  ") + each.string_or("id") + "\n";
  }
  if (const Value* error = value.find("error"))
    out += "the backend could not be asked: " + error->string_or("message") + "\n";
  return out;
}

std::string yes(const Value& row, std::string_view key) { return row.bool_or(key, false) ? "yes" : "no"; }

std::string catalog_models(const Value& value) {
  std::vector<Row> rows;
  const Value* items = value.find("models");
  if (!items || !items->is_array() || items->as_array()->empty()) return "none\n";
  for (const Value& each : *items->as_array()) {
    const Value* price = each.find("price");
    std::string flags;
    if (const Value* all = each.find("flags"); all && all->is_array()) {
      for (const Value& flag : *all->as_array()) flags += (flags.empty() ? "" : " ") + flag.as_string()[0];
    }
    rows.push_back({each.string_or("id"), cell(each, "context_tokens"), price ? cell(*price, "input") : "",
                    price ? cell(*price, "output") : "", yes(each, "usable"), flags});
  }
  return table({"MODEL", "CONTEXT", "IN $/M", "OUT $/M", "USABLE", "CAN"}, rows);
}

std::string providers(const Value& value) {
  std::vector<Row> rows;
  const Value* items = value.find("providers");
  if (!items || !items->is_array()) return "none\n";
  for (const Value& each : *items->as_array()) {
    const Value* keys = each.find("key_env");
    const bool named = keys && keys->is_array() && !keys->as_array()->empty();
    rows.push_back({(each.bool_or("backend", false) ? "* " : "  ") + each.string_or("id"),
                    yes(each, "usable"), cell(each, "models"),
                    named ? keys->as_array()->front().as_string()[0] : "", each.string_or("base_url")});
  }
  return table({"  PROVIDER", "USABLE", "MODELS", "KEY", "ADDRESS"}, rows);
}

// The model, why, and what the dimensions say.
std::string routed(const Value& value) {
  std::string out = fmt::format("{}/{} ({}): {}\n", value.string_or("provider"), value.string_or("model"),
                                value.string_or("route"), value.string_or("reason"));
  out += fmt::format("tier {}, {}, score {} of 100, decided by {}\n", value.string_or("tier"),
                     value.string_or("level"), value.int_or("score", 0), value.string_or("by"));
  const Value* dimensions = value.find("dimensions");
  if (dimensions == nullptr || dimensions->as_array() == nullptr) return out;
  std::vector<Row> rows;
  for (const Value& each : *dimensions->as_array()) {
    if (each.int_or("score", 0) == 0) continue;
    rows.push_back({each.string_or("name"), cell(each, "score"), cell(each, "weight")});
  }
  return rows.empty() ? out : out + table({"DIMENSION", "SCORE", "WEIGHT %"}, rows);
}

std::string tested(const Value& value) {
  const std::string where = fmt::format("{} ({} as {})", value.string_or("model"),
                                        value.string_or("provider"), value.string_or("sent_as"));
  if (value.bool_or("ok", false))
    return fmt::format("{} answers after {} ms\n", where, value.int_or("latency_ms", 0));
  const Value* error = value.find("error");
  return fmt::format("{} does not answer: {}\n", where, error ? error->string_or("message") : "");
}

std::string used(const Value& value) {
  std::string out = fmt::format("{} ({} as {}) is asked from now on\n", value.string_or("model"),
                                value.string_or("provider"), value.string_or("sent_as"));
  if (const std::string warning = value.string_or("warning"); !warning.empty()) out = warning + "\n";
  return out;
}

std::string members(const Value& value) {
  std::vector<Row> rows;
  for (const json::Member& each : *value.as_object()) rows.push_back({each.key, cell(value, each.key)});
  std::string out = table({"", ""}, rows);
  return out.substr(out.find('\n') + 1);
}

std::string search(const Value& value) {
  std::string out;
  if (const Value* items = value.find("results"); items && items->is_array()) {
    for (const Value& each : *items->as_array())
      out += each.string_or("path") + "\n" + each.string_or("content") + "\n\n";
  }
  return out.empty() ? "nothing found\n" : out;
}

std::string document(const Value& value) {
  std::string content = value.string_or("content");
  if (!content.ends_with('\n')) content += '\n';
  return content;
}

}  // namespace

std::string text_for(std::string_view operation, const Value& value) {
  if (operation == "thread::list") {
    Value all = Value::array();
    for (Value& each : threads_of(value)) {
      // The pinned one is there before anybody has used it.
      if (each.string_or("thread_type") == "assistant" && each.int_or("turn_count", 0) == 0) continue;
      all.push_back(std::move(each));
    }
    return list(Value::object({{"threads", std::move(all)}}), "threads",
                {"ID", "STATE", "TURNS", "UPDATED", "CHANNEL", "TITLE"},
                {"id", "state", "turn_count", "updated_at", "channel", "title"});
  }
  if (operation == "token::list") {
    return list(value, "tokens", {"ID", "CREATED", "EXPIRES", "REVOKED", "PERMISSIONS", "MODELS", "LABEL"},
                {"id", "created_at", "expires_at", "revoked_at", "permissions", "models", "label"});
  }
  if (operation == "vault::list")
    return list(value, "secrets", {"NAME", "CREATED", "UPDATED"}, {"name", "created_at", "updated_at"});
  if (operation == "vault::set" || operation == "vault::delete")
    return value.string_or("name") + " is " + value.string_or("status") + "\n";
  if (operation == "tool::list")
    return list(value, "tools", {"NAME", "GROUP", "DESCRIPTION"}, {"name", "group", "description"});
  if (operation == "agent::list") return list(value, "agents", {"NAME"}, {"name"});
  if (operation == "memory::tree") return list(value, "entries", {"PATH"}, {"path"});
  if (operation == "memory::read") return document(value);
  if (operation == "memory::search") return search(value);
  if (operation == "chat::history") return history(value);
  if (operation == "thread::replay") return replay(value);
  if (operation == "thread::export") return agent::traces::layout(value);
  if (operation == "thread::fork") return value.string_or("id") + "\n";
  if (operation == "model::list") return models(value);
  if (operation == "catalog::models") return catalog_models(value);
  if (operation == "catalog::providers") return providers(value);
  if (operation == "catalog::aliases") return list(value, "aliases", {"ALIAS", "MODEL"}, {"alias", "model"});
  if (operation == "model::test") return tested(value);
  if (operation == "llm::route") return routed(value);
  if (operation == "model::use") return used(value);
  if (operation == "token::create") return value.string_or("token") + "\n";
  if (operation == "system::status" || operation == "engine::queue::topic_stats") return members(value);
  if (operation == "engine::functions::list")
    return list(value, "functions", {"FUNCTION", "WORKER", "DESCRIPTION"},
                {"function_id", "worker_name", "description"});
  if (operation == "engine::registered-triggers::list")
    return list(value, "registered_triggers", {"ID", "TYPE", "FUNCTION", "WORKER", "BOUND", "CONFIGURATION"},
                {"id", "trigger_type", "function_id", "worker_name", "bound", "config_summary"});
  if (operation == "engine::workers::list")
    return list(
        value, "workers", {"ID", "NAME", "STATUS", "FUNCTIONS", "CALLS", "RUNTIME", "VERSION", "ADDRESS"},
        {"id", "name", "status", "function_count", "active_invocations", "runtime", "version", "ip_address"});
  if (operation == "engine::queue::list_topics")
    return list(value, "", {"QUEUE", "KIND", "SUBSCRIBERS"}, {"name", "kind", "subscriber_count"});
  if (operation == "engine::queue::dlq_topics")
    return list(value, "", {"QUEUE", "KIND", "MESSAGES"}, {"topic", "kind", "message_count"});
  if (operation == "engine::queue::dlq_messages")
    return list(value, "", {"ID", "TRIES", "ERROR", "PAYLOAD"}, {"id", "retries", "error", "payload"});
  if (operation == "usage::days") return usage_text(value);
  if (operation == "setting::list") return settings_text(value);
  if (operation == "setting::get") return setting_text(value);
  if (value.is_null()) return {};
  return json::write_pretty(value) + "\n";
}

}  // namespace chela::cli
