#include "config/agent_file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/strings.h"
#include "config/budget_rule.h"
#include "config/toml.h"

namespace chela::config {
namespace {

constexpr double kMaxAgentBudget = static_cast<double>(kMaxBudgetCents) / 100;
constexpr size_t kMaxAgentFileBytes = 256 * 1024;

// Reads one key of a table into `out`. False, with `error` set, when it has another type.
template <class T>
bool read(const toml::table& table, std::string_view key, T& out, std::string_view path, std::string& error) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return true;
  if (const auto value = node->value<T>()) {
    out = *value;
    return true;
  }
  error = fmt::format("{}:{}: '{}' has the wrong type", path, node->source().begin.line, key);
  return false;
}

template <class T>
bool read(const toml::table& table, std::string_view key, std::optional<T>& out, std::string_view path,
          std::string& error) {
  T value{};
  if (table.get(key) == nullptr) return true;
  if (!read(table, key, value, path, error)) return false;
  out = value;
  return true;
}

bool read(const toml::table& table, std::string_view key, std::vector<std::string>& out,
          std::string_view path, std::string& error) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return true;
  const toml::array* array = node->as_array();
  out.clear();
  for (size_t i = 0; array != nullptr && i < array->size(); ++i) {
    const auto text = array->get(i)->value<std::string>();
    if (!text) {
      array = nullptr;
      break;
    }
    out.push_back(*text);
  }
  if (array != nullptr) return true;
  error = fmt::format("{}:{}: '{}' must be a list of strings", path, node->source().begin.line, key);
  return false;
}

const toml::table& section(const toml::table& root, std::string_view path) {
  static const toml::table kNone;
  const toml::table* at = &root;
  for (const std::string_view part : strings::split(path, '.')) {
    const toml::node* node = at->get(part);
    at = node != nullptr ? node->as_table() : nullptr;
    if (at == nullptr) return kNone;
  }
  return *at;
}

Failure unreadable(std::string_view path, const std::error_code& why) {
  return fail(Code::kInternal, "the agents cannot be read: {}: {}", path, why.message());
}

// Nothing where there is none: any other folder may lie beside those of agents. One that cannot be looked at is an error, else its agent
// would be missing without a word.
Result<std::optional<std::string>> read_agent_file(const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  std::error_code ec;
  const fs::file_status status = fs::status(file, ec);
  if (status.type() == fs::file_type::not_found) return std::nullopt;
  if (ec) return unreadable(file.string(), ec);
  if (status.type() != fs::file_type::regular) return std::nullopt;
  if (const std::uintmax_t size = fs::file_size(file, ec); !ec && size > kMaxAgentFileBytes)
    return fail(Code::kTooLarge, "{} is larger than {} bytes", file.string(), kMaxAgentFileBytes);
  std::ifstream in(file, std::ios::binary);
  if (!in) return unreadable(file.string(), std::error_code(errno, std::generic_category()));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

Result<AgentFile> parse_agent_file(std::string_view text, std::string_view path) {
  const Result<toml::table> parsed = parse_toml(text, path);
  if (!parsed) return fail(parsed.error());
  const toml::table& root = *parsed;
  AgentFile file;
  std::string error;
  const toml::table& agent = section(root, "agent");
  const toml::table& model = section(root, "agent.model");
  const toml::table& persona = section(root, "persona");
  const bool ok =
      read(agent, "name", file.name, path, error) &&
      read(agent, "description", file.description, path, error) &&
      read(agent, "system_prompt", file.system_prompt, path, error) &&
      read(section(root, "agent.resources"), "system_prompt", file.system_prompt, path, error) &&
      read(section(root, "agent.resources"), "daily_budget", file.daily_budget, path, error) &&
      read(section(root, "agent.resources"), "monthly_budget", file.monthly_budget, path, error) &&
      read(model, "model", file.model, path, error) &&
      read(model, "max_tokens", file.max_tokens, path, error) &&
      read(model, "temperature", file.temperature, path, error) &&
      read(model, "tool_dispatcher", file.tool_dispatcher, path, error) &&
      read(section(root, "agent.capabilities"), "tools", file.tools, path, error) &&
      read(persona, "communication_style", file.communication_style, path, error) &&
      read(persona, "critical_rules", file.critical_rules, path, error);
  if (!ok) return fail(Code::kInvalidArgument, "{}", error);
  if (const std::string& way = file.tool_dispatcher;
      !way.empty() && way != "auto" && way != "native" && way != "prompted") {
    return fail(Code::kInvalidArgument, "{}:{}: 'tool_dispatcher' is '{}'; use auto, native or prompted",
                path, model.get("tool_dispatcher")->source().begin.line, way);
  }
  for (const std::optional<double>& budget : {file.daily_budget, file.monthly_budget}) {
    if (budget && !(*budget >= 0 && *budget <= kMaxAgentBudget))
      return fail(Code::kInvalidArgument,
                  "{}: a budget of [agent.resources] is an amount of dollars from 0 to {}", path,
                  kMaxAgentBudget);
  }
  if (file.name.empty()) return fail(Code::kInvalidArgument, "{}: [agent] name is missing", path);
  return file;
}

Result<std::vector<AgentFile>> load_agents(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<AgentFile> agents;
  std::error_code ec;
  fs::directory_iterator it(folder, ec);
  if (ec == std::errc::no_such_file_or_directory) return agents;
  for (const fs::directory_iterator end; !ec && it != end; it.increment(ec)) {
    const fs::path file = it->path() / "agent.toml";
    const Result<std::optional<std::string>> text = read_agent_file(file);
    if (!text) return fail(text.error());
    if (!*text) continue;
    Result<AgentFile> agent = parse_agent_file(**text, file.string());
    if (!agent) return fail(agent.error());
    if (agent->name != it->path().filename().string()) {
      return fail(Code::kInvalidArgument,
                  "{}: the agent's name '{}' differs from its folder's '{}'; rename one", file.string(),
                  agent->name, it->path().filename().string());
    }
    agents.push_back(std::move(*agent));
  }
  if (ec) return unreadable(folder, ec);
  std::sort(agents.begin(), agents.end(),
            [](const AgentFile& a, const AgentFile& b) { return a.name < b.name; });
  return agents;
}

}  // namespace chela::config
