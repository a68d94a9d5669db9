#include "llm/gemini/request_body.h"

#include <algorithm>

#include "base/base64.h"
#include "llm/wire/provider_data.h"
#include "llm/wire/turns.h"

namespace chela::llm::gemini {
namespace {

using wire::Part;
using wire::Turn;

// What stands for the signature of a call that another model made: Google's own word for it.
constexpr std::string_view kNoSignature = "skip_thought_signature_validator";

bool wants_signatures(std::string_view model) { return model.contains("gemini-3"); }

json::Value text_part(std::string_view text) { return json::Value::object({{"text", text}}); }

json::Value image_part(const Image& image) {
  if (!image.bytes) return text_part(fmt::format("[an image of type {} that is not kept]", image.media_type));
  const json::Value data =
      json::Value::object({{"mimeType", image.media_type}, {"data", base64::encode(*image.bytes)}});
  return json::Value::object({{"inlineData", data}});
}

// What the provider said of the calls of a turn, one entry each: {"id","signature"}, both optional. Nothing when they are other calls.
std::optional<json::Array> kept_of(const Turn& turn) {
  std::optional<json::Value> kept = wire::provider_data_of("gemini", turn.provider_data);
  if (!kept || !kept->is_array()) return std::nullopt;
  size_t calls = 0;
  for (const Part& part : turn.parts) calls += part.kind == Part::Kind::kCall ? 1 : 0;
  if (kept->as_array()->size() != calls) return std::nullopt;
  return std::move(*kept->as_array());
}

class Contents {
 public:
  explicit Contents(bool signatures) : signatures_(signatures) {}

  json::Value of(const Turn& turn) {
    json::Array parts;
    const std::optional<json::Array> kept = kept_of(turn);
    size_t call = 0;
    for (const Part& part : turn.parts) {
      if (part.kind == Part::Kind::kCall) {
        parts.push_back(call_part(part.call, kept ? &(*kept)[call] : nullptr, call == 0));
        ++call;
      } else if (part.kind == Part::Kind::kResult) {
        parts.push_back(result_part(part));
      } else {
        parts.push_back(part.kind == Part::Kind::kImage ? image_part(part.image) : text_part(part.text));
      }
    }
    const std::string_view role = turn.role == Role::kAssistant ? "model" : "user";
    return json::Value::object({{"role", role}, {"parts", std::move(parts)}});
  }

 private:
  // The ids are those that the server gave, if it gave any: ours mean nothing to it.
  json::Value call_part(const ToolCall& call, const json::Value* kept, bool first) {
    json::Value function = json::Value::object({{"name", call.name}, {"args", wire::arguments_object(call)}});
    const std::string id = kept != nullptr ? kept->string_or("id") : "";
    if (!id.empty()) {
      function.set("id", id);
      ids_.set(call.id, id);
    }
    json::Value part = json::Value::object({{"functionCall", std::move(function)}});
    std::string signature = kept != nullptr ? kept->string_or("signature") : "";
    if (kept == nullptr && first && signatures_) signature = kNoSignature;
    if (!signature.empty()) part.set("thoughtSignature", signature);
    return part;
  }

  json::Value result_part(const Part& part) {
    json::Value response = json::Value::object({{part.is_error ? "error" : "output", part.text}});
    json::Value function = json::Value::object({{"name", part.call.name}, {"response", std::move(response)}});
    if (const json::Value* id = ids_.find(part.call.id)) function.set("id", *id);
    return json::Value::object({{"functionResponse", std::move(function)}});
  }

  bool signatures_;
  json::Object ids_;  // the server's, by ours
};

void set_tools(json::Value& body, const Request& request) {
  if (request.tools.empty()) return;
  json::Array functions;
  for (const ToolSpec& tool : request.tools) {
    json::Value function = json::Value::object({{"name", tool.name}, {"description", tool.description}});
    function.set("parametersJsonSchema", *tool.parameters);
    functions.push_back(std::move(function));
  }
  body.set("tools",
           json::Value::array({json::Value::object({{"functionDeclarations", std::move(functions)}})}));
  json::Value calling = json::Value::object();
  if (!request.tool_choice_name.empty()) {
    calling.set("mode", "ANY");
    calling.set("allowedFunctionNames", json::Value::array({request.tool_choice_name}));
  } else if (request.tool_choice != ToolChoice::kAuto) {
    calling.set("mode", request.tool_choice == ToolChoice::kNone ? "NONE" : "ANY");
  } else {
    return;
  }
  body.set("toolConfig", json::Value::object({{"functionCallingConfig", std::move(calling)}}));
}

// The fewest thoughts that the model can be asked for; it refuses less.
std::int64_t least_thoughts(std::string_view model) { return model.contains("2.5-pro") ? 128 : 0; }

// The budget is part of the longest answer: half of that stays for what is said. A small model has no budgets between none and 512.
std::int64_t within(std::int64_t budget, std::string_view model, std::optional<std::int64_t> max_tokens) {
  if (max_tokens) budget = std::min(budget, *max_tokens / 2);
  if (model.contains("flash-lite") && budget < 512) budget = 0;
  return std::max(budget, least_thoughts(model));
}

// Models of the third generation take a level, those before it a number of tokens.
json::Value thinking_of(std::string_view model, std::string_view effort,
                        std::optional<std::int64_t> max_tokens) {
  json::Value out = json::Value::object();
  if (wants_signatures(model)) {
    out.set("includeThoughts", true);
    out.set("thinkingLevel", effort == "none" || effort == "minimal" || effort == "low" ? "low" : "high");
    return out;
  }
  const bool off = effort == "none";
  out.set("includeThoughts", !off);
  const std::int64_t budget = off                                      ? 0
                              : effort == "minimal" || effort == "low" ? 1024
                              : effort == "medium"                     ? 8192
                                                                       : 24576;
  out.set("thinkingBudget", within(budget, model, max_tokens));
  return out;
}

json::Object generation_of(const Request& request) {
  const Sampling& sampling = request.sampling;
  json::Object out;
  if (sampling.temperature) out.set("temperature", *sampling.temperature);
  if (sampling.top_p) out.set("topP", *sampling.top_p);
  if (const json::Value* top_k = request.extra.find("top_k")) out.set("topK", *top_k);
  if (sampling.presence_penalty) out.set("presencePenalty", *sampling.presence_penalty);
  if (sampling.frequency_penalty) out.set("frequencyPenalty", *sampling.frequency_penalty);
  if (sampling.max_tokens) out.set("maxOutputTokens", *sampling.max_tokens);
  if (sampling.seed) out.set("seed", *sampling.seed);
  if (!sampling.stop.empty()) {
    json::Array stop;
    for (const std::string& text : sampling.stop) stop.emplace_back(text);
    out.set("stopSequences", std::move(stop));
  }
  if (sampling.response_format && sampling.response_format->string_or("type") != "text") {
    out.set("responseMimeType", "application/json");
    const json::Value* inner = sampling.response_format->find("json_schema");
    const json::Value* schema = inner != nullptr ? inner->find("schema") : nullptr;
    if (schema != nullptr) out.set("responseJsonSchema", *schema);
  }
  if (!sampling.reasoning_effort.empty())
    out.set("thinkingConfig", thinking_of(request.model, sampling.reasoning_effort, sampling.max_tokens));
  return out;
}

}  // namespace

std::string request_body(Request request) {
  json::Value body = json::Value::object();
  const wire::Turns turns = wire::as_turns(std::move(request.messages));
  if (!turns.system.empty())
    body.set("systemInstruction",
             json::Value::object({{"parts", json::Value::array({text_part(turns.system)})}}));
  Contents contents(wants_signatures(request.model));
  json::Array list;
  for (const Turn& turn : turns.turns) list.push_back(contents.of(turn));
  body.set("contents", std::move(list));
  set_tools(body, request);
  if (json::Object generation = generation_of(request); !generation.empty())
    body.set("generationConfig", std::move(generation));
  return json::write(body);
}

}  // namespace chela::llm::gemini
