#include "config/keys.h"

#include <algorithm>
#include <array>

#include "base/likeness.h"
#include "config/budget_rule.h"

namespace chela::config {
namespace {

Key at_once(Key key) {
  key.reload = Reload::kAtOnce;
  return key;
}

// Known before the settings table is: it says whose table it is, or is used while that is opened.
Key not_in_table(Key key) {
  key.in_table = InTable::kNo;
  return key;
}

// Another system's variable that switches it on whatever it holds.
Key on_when_present(Key key) {
  key.foreign_says = Foreign::kPresence;
  return key;
}

const std::vector<Key>& table() {
  static const std::vector<Key> kTable{
      at_once({"agent.auto_approve_tools",
               Type::kBool,
               "false",
               "run every tool without asking; for benchmarks and machines of your own",
               {"AGENT_AUTO_APPROVE_TOOLS"}}),
      at_once({"agent.busy",
               Type::kChoice,
               "steer",
               "a message to a busy thread joins the running turn (steer) or waits for its own (queue)",
               {},
               {"steer", "queue"}}),
      {"agent.context_tokens",
       Type::kInt,
       "0",
       "the model's context window; 0 takes what the catalog knows, else 32768",
       {},
       {},
       0,
       100'000'000},
      at_once({"agent.max_tool_iterations",
               Type::kInt,
               "50",
               "model calls of one turn at most; the last gives the final answer",
               {"AGENT_MAX_TOOL_ITERATIONS"},
               {},
               1,
               1000}),
      {"agent.name", Type::kString, "default", "the agent that answers when none is named", {"AGENT_NAME"}},
      {"agent.tool_dispatcher",
       Type::kChoice,
       "auto",
       "how models are offered tools: by their protocol (native), in the prompt (prompted), or as the "
       "catalog says "
       "(auto)",
       {},
       {"auto", "native", "prompted"}},
      at_once({"budget.actions_per_hour",
               Type::kInt,
               "",
               "calls of models in any 3600 s, all together; not set: no limit",
               {"MAX_ACTIONS_PER_HOUR"},
               {},
               0,
               kMaxBudgetActions}),
      at_once({"budget.day_cents",
               Type::kInt,
               "",
               "what calls of models may cost a day, all together; not set: no limit",
               {"MAX_COST_PER_DAY_CENTS"},
               {},
               0,
               kMaxBudgetCents}),
      at_once(
          {"budget.limits", Type::kList, "",
           "limits of agents, users and others: 'agent:NAME day CENTS, session:* month CENTS, key:ID hour "
           "CALLS soft'"}),
      at_once({"budget.month_cents",
               Type::kInt,
               "",
               "what calls of models may cost a month, all together; not set: no limit",
               {},
               {},
               0,
               kMaxBudgetCents}),
      at_once(
          {"budget.timezone", Type::kString, "UTC", "whose days and months limits count, as Europe/Berlin"}),
      at_once(
          {"budget.unpriced",
           Type::kChoice,
           "allow",
           "models whose price is not known: allow (calls and tokens count, money does not) or refuse where "
           "money is limited",
           {},
           {"allow", "refuse"}}),
      at_once({"budget.warn_percent",
               Type::kInt,
               "80",
               "share of a limit from which on people are warned",
               {},
               {},
               1,
               100}),
      {"bus.call_timeout",
       Type::kDuration,
       "1h",
       "a call over the bus that is not answered for so long has failed",
       {},
       {},
       1000,
       7 * 86'400'000LL},
      {"bus.enabled", Type::kBool, "true", "listen for workers"},
      {"bus.host", Type::kString, "127.0.0.1", "address the bus listens on"},
      {"bus.http_port", Type::kInt, "3111", "port of HTTP triggers; 0 takes a free one", {}, {}, 0, 65535},
      {"bus.port", Type::kInt, "49134", "port of the bus; 0 takes a free one", {}, {}, 0, 65535},
      {"bus.stream_port",
       Type::kInt,
       "3112",
       "port where browsers hear of streams; 0 takes a free one",
       {},
       {},
       0,
       65535},
      {"cli.enabled",
       Type::kBool,
       "true",
       "chat on the terminal or standard input that `chela run` was started with; false is --headless",
       {"CLI_ENABLED"}},
      {"gateway.auth_token",
       Type::kSecret,
       "",
       "token of the gateway; without it $CHELA_HOME/gateway.token is made",
       {"GATEWAY_AUTH_TOKEN"}},
      {"gateway.enabled", Type::kBool, "true", "listen for HTTP", {"GATEWAY_ENABLED"}},
      {"gateway.host", Type::kString, "127.0.0.1", "address the gateway listens on", {"GATEWAY_HOST"}},
      {"gateway.port",
       Type::kInt,
       "3000",
       "port of the gateway; 0 takes a free one",
       {"GATEWAY_PORT"},
       {},
       0,
       65535},
      not_in_table({"gateway.user_id",
                    Type::kString,
                    "default",
                    "the user whom the gateway token stands for",
                    {"GATEWAY_USER_ID"}}),
      {"infer.idle",
       Type::kDuration,
       "10m",
       "the local model server leaves after so long without work",
       {},
       {},
       1000,
       7 * 86'400'000LL},
      {"infer.threads",
       Type::kInt,
       "0",
       "threads of the local model; 0 chooses by the number of cores",
       {},
       {},
       0,
       256},
      {"limits.body", Type::kBytes, "1MiB", "largest request body", {}, {}, 1024, 1 << 30},
      {"limits.connections", Type::kInt, "1024", "connections at the same time", {}, {}, 1, 100'000},
      at_once({"limits.event_subscribers",
               Type::kInt,
               "100",
               "event streams of one user at the same time",
               {},
               {},
               1,
               100'000}),
      {"limits.failed_logins",
       Type::kInt,
       "30",
       "wrong tokens of one address in a minute, then it waits; 0 never, for a proxy that all callers come "
       "by",
       {},
       {},
       0,
       1'000'000},
      {"limits.header_timeout",
       Type::kDuration,
       "10s",
       "a request's head must be there so long after its first byte",
       {},
       {},
       10,
       3'600'000},
      {"limits.headers", Type::kBytes, "32KiB", "largest request head", {}, {}, 1024, 1 << 20},
      at_once({"limits.message", Type::kBytes, "100000", "largest message to an agent", {}, {}, 1, 1 << 30}),
      {"limits.v1_body", Type::kBytes, "10MiB", "largest request body on /v1", {}, {}, 1024, 1 << 30},
      {"llm.api_key", Type::kSecret, "", "key of the model provider", {"LLM_API_KEY"}},
      {"llm.backend",
       Type::kString,
       "",
       "openai, openai_compatible, ollama, local or another of `chela models providers`; without it what is "
       "configured decides",
       {"LLM_BACKEND"}},
      {"llm.base_url",
       Type::kString,
       "",
       "address of the model provider, with or without /v1",
       {"LLM_BASE_URL"}},
      at_once({"llm.cache",
               Type::kBool,
               "false",
               "requests without tools that were answered before are answered from the store, without asking "
               "a model",
               {"RESPONSE_CACHE_ENABLED"}}),
      at_once({"llm.cache_entries",
               Type::kInt,
               "1000",
               "how many answers of a user llm.cache keeps",
               {"RESPONSE_CACHE_MAX_ENTRIES"},
               {},
               1,
               1'000'000}),
      at_once({"llm.cache_ttl",
               Type::kDuration,
               "3600s",
               "how long llm.cache keeps an answer",
               {"RESPONSE_CACHE_TTL_SECS"},
               {},
               1000,
               31'536'000'000}),
      at_once({"llm.cascade",
               Type::kBool,
               "true",
               "a message that is neither simple nor hard is tried with llm.cheap_model first",
               {"SMART_ROUTING_CASCADE"}}),
      at_once({"llm.cheap_model",
               Type::kString,
               "",
               "the model, of any provider, for requests without tools (or with [tier:flash]) that do not "
               "need the default one; none: no routing",
               {"LLM_CHEAP_MODEL", "NEARAI_CHEAP_MODEL"}}),
      {"llm.circuit_breaker_recovery",
       Type::kDuration,
       "30s",
       "how long a provider is left alone that llm.circuit_breaker_threshold speaks of",
       {"CIRCUIT_BREAKER_RECOVERY_SECS"},
       {},
       100,
       86'400'000},
      {"llm.circuit_breaker_threshold",
       Type::kInt,
       "0",
       "failed calls in a row after which a provider is not asked for a while; 0 asks it always",
       {"CIRCUIT_BREAKER_THRESHOLD"},
       {},
       0,
       1000},
      {"llm.extra_headers",
       Type::kList,
       "",
       "headers sent to the provider, as Name:Value,Name:Value",
       {"LLM_EXTRA_HEADERS"}},
      at_once({"llm.failover_cooldown",
               Type::kDuration,
               "300s",
               "how long a model that fails is passed over while there are llm.fallback",
               {"LLM_FAILOVER_COOLDOWN_SECS"},
               {},
               0,
               86'400'000}),
      at_once({"llm.failover_threshold",
               Type::kInt,
               "3",
               "failed calls in a row after which a model is passed over",
               {"LLM_FAILOVER_THRESHOLD"},
               {},
               1,
               1000}),
      at_once({"llm.fallback",
               Type::kList,
               "",
               "models of any providers that are asked, in this order, when another does not answer",
               {"LLM_FALLBACK_MODELS", "NEARAI_FALLBACK_MODEL"}}),
      {"llm.max_retries",
       Type::kInt,
       "3",
       "how often a failed model call is tried again",
       {"NEARAI_MAX_RETRIES"},
       {},
       0,
       20},
      {"llm.max_tokens",
       Type::kInt,
       "",
       "longest answer in tokens; not set: the provider decides",
       {},
       {},
       1,
       10'000'000},
      at_once(
          {"llm.model", Type::kString, "", "the model that is asked when nobody names one", {"LLM_MODEL"}}),
      at_once({"llm.routing",
               Type::kChoice,
               "score",
               "how it is judged which messages need the default model",
               {},
               {"score", "keywords"}}),
      {"llm.stall_timeout",
       Type::kDuration,
       "120s",
       "a model call fails after so long without a byte",
       {},
       {},
       100,
       86'400'000},
      {"llm.temperature",
       Type::kNumber,
       "",
       "sampling temperature; not set: the provider decides",
       {},
       {},
       0,
       2},
      {"llm.unix_socket", Type::kString, "", "connect to this socket instead of the URL's host"},
      not_in_table({"log.file", Type::kString, "logs/chela.log",
                    "the log, below the home unless absolute; off writes none"}),
      at_once({"log.level",
               Type::kChoice,
               "info",
               "the least serious lines that are written",
               {},
               {"trace", "debug", "info", "warn", "error", "off"}}),
      {"ollama.base_url",
       Type::kString,
       "http://localhost:11434",
       "address of Ollama, for llm.backend = ollama",
       {"OLLAMA_BASE_URL"}},
      at_once({"ollama.model", Type::kString, "llama3", "model of Ollama", {"OLLAMA_MODEL"}}),
      {"openai.api_key", Type::kSecret, "", "key of OpenAI; goes to OpenAI only", {"OPENAI_API_KEY"}},
      {"openai.base_url",
       Type::kString,
       "https://api.openai.com/v1",
       "address of OpenAI, for llm.backend = openai",
       {"OPENAI_BASE_URL"}},
      at_once({"openai.model", Type::kString, "gpt-4o", "model of OpenAI", {"OPENAI_MODEL"}}),
      not_in_table({"secrets.master_key",
                    Type::kSecret,
                    "",
                    "key of the vault, 32 bytes or more; without it $CHELA_HOME/vault.key is made",
                    {"SECRETS_MASTER_KEY"}}),
      at_once(
          {"tools.timeout", Type::kDuration, "60s", "longest run of one tool call", {}, {}, 100, 86'400'000}),
      at_once({"traces.model_name",
               Type::kString,
               "",
               "the model_name of recorded traces; without it recorded-<model>",
               {"IRONCLAW_TRACE_MODEL_NAME"}}),
      at_once({"traces.output",
               Type::kString,
               "",
               "one file for the traces of all threads; without it $CHELA_HOME/traces/<thread>.json each",
               {"IRONCLAW_TRACE_OUTPUT"}}),
      at_once(on_when_present({"traces.record",
                               Type::kBool,
                               "false",
                               "write a trace of every conversation after each of its turns",
                               {"IRONCLAW_RECORD_TRACE"}})),
  };
  return kTable;
}

}  // namespace

std::span<const Key> keys() { return table(); }

const Key* find_key(std::string_view name) {
  for (const Key& key : table()) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

std::string env_name(const Key& key) {
  std::string name = "CHELA_";
  for (const char c : key.name) name += c == '.' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return name;
}

std::string_view type_text(Type type) {
  switch (type) {
    case Type::kString:
      return "a text";
    case Type::kSecret:
      return "a text";
    case Type::kInt:
      return "a whole number";
    case Type::kNumber:
      return "a number";
    case Type::kBool:
      return "true or false";
    case Type::kDuration:
      return "a duration such as 30s or 5m";
    case Type::kBytes:
      return "a size such as 100000, 32KiB or 10MiB";
    case Type::kChoice:
      return "one of the known words";
    case Type::kList:
      return "a list of texts";
  }
  return "a text";
}

std::string_view closest_key(std::string_view name) {
  constexpr size_t kMaxName = 64;
  if (name.size() > kMaxName) return {};
  std::string_view best;
  size_t best_distance = 4;  // farther is no likeness
  for (const Key& key : table()) {
    // The last part alone is what people remember.
    const std::string_view last = key.name.substr(key.name.rfind('.') + 1);
    const size_t d = std::min(likeness::distance(name, key.name), name == last ? size_t{1} : size_t{99});
    if (d < best_distance) {
      best_distance = d;
      best = key.name;
    }
  }
  return best;
}

}  // namespace chela::config
