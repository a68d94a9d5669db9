#include "testing/model_script.h"

#include <algorithm>
#include <initializer_list>

#include "base/strings.h"

namespace chela::testing {
namespace {

// Reads the members of one object and remembers the first thing that is wrong.
class Reader {
 public:
  Reader(const json::Value& value, std::string where) : value_(value), where_(std::move(where)) {
    if (!value.is_object()) complain("is no object");
  }

  void only(std::initializer_list<std::string_view> known) {
    if (!value_.is_object()) return;
    for (const json::Member& member : *value_.as_object()) {
      if (std::ranges::find(known, member.key) == known.end())
        complain(fmt::format("has the unknown key '{}'", member.key));
    }
  }

  const json::Value* find(std::string_view key) const { return value_.find(key); }

  void text(std::string_view key, std::string& out) {
    const json::Value* value = find(key);
    if (value == nullptr) return;
    if (const std::string* t = value->as_string()) {
      out = *t;
    } else {
      complain(fmt::format("'{}' is no text", key));
    }
  }

  template <class Number>
  void number(std::string_view key, Number& out) {
    const json::Value* value = find(key);
    if (value == nullptr) return;
    const std::optional<std::int64_t> n = value->as_int();
    if (n && *n >= 0) {
      out = Number(*n);
    } else {
      complain(fmt::format("'{}' is no whole number", key));
    }
  }

  void flag(std::string_view key, bool& out) {
    const json::Value* value = find(key);
    if (value == nullptr) return;
    if (const std::optional<bool> b = value->as_bool()) {
      out = *b;
    } else {
      complain(fmt::format("'{}' is neither true nor false", key));
    }
  }

  void regex(std::string_view key, std::optional<Regex>& out) {
    std::string pattern;
    text(key, pattern);
    if (pattern.empty()) return;
    Result<Regex> compiled = Regex::create(pattern);
    if (!compiled) return complain(fmt::format("'{}': {}", key, compiled.error().message));
    out.emplace(std::move(*compiled));
  }

  // Calls `each` with every entry and its place.
  template <class Each>
  void list(std::string_view key, Each each) {
    const json::Value* value = find(key);
    if (value == nullptr) return;
    if (!value->is_array()) return complain(fmt::format("'{}' is no array", key));
    size_t at = 0;
    for (const json::Value& entry : *value->as_array())
      each(entry, fmt::format("{}.{}[{}]", where_, key, at++));
  }

  void complain(std::string_view what) {
    if (wrong_.empty()) wrong_ = fmt::format("{} {}", where_, what);
  }
  void adopt(const Result<>& other) {
    if (!other && wrong_.empty()) wrong_ = other.error().message;
  }
  Result<> result() const {
    if (wrong_.empty()) return {};
    return fail(Code::kInvalidArgument, "{}", wrong_);
  }
  std::string member(std::string_view key) const { return fmt::format("{}.{}", where_, key); }

 private:
  const json::Value& value_;
  std::string where_;
  std::string wrong_;
};

ScriptedCall read_call(Reader& parent, const json::Value& value, const std::string& where) {
  Reader in(value, where);
  in.only({"id", "name", "arguments"});
  ScriptedCall call;
  in.text("id", call.id);
  in.text("name", call.name);
  const json::Value* arguments = in.find("arguments");
  if (arguments != nullptr)
    call.arguments = arguments->is_string() ? *arguments->as_string() : json::write(*arguments);
  parent.adopt(in.result());
  return call;
}

void read_usage(Reader& parent, const json::Value& value, Reply& reply) {
  Reader in(value, parent.member("usage"));
  in.only({"input", "output", "cached"});
  ScriptedUsage usage;
  in.number("input", usage.input);
  in.number("output", usage.output);
  in.number("cached", usage.cached);
  parent.adopt(in.result());
  reply.usage = usage;
}

void read_failure(Reader& in, Reply& reply) {
  in.number("status", reply.status);
  if (const json::Value* error = in.find("error")) reply.error = *error;
  if (in.find("body") != nullptr) in.text("body", reply.body.emplace());
  in.text("content_type", reply.content_type);
  if (const json::Value* headers = in.find("headers")) {
    Reader fields(*headers, in.member("headers"));
    if (headers->is_object()) {
      for (const json::Member& member : *headers->as_object())
        fields.text(member.key, reply.headers[member.key]);
    }
    in.adopt(fields.result());
  }
  std::string retry_after;
  in.text("retry_after", retry_after);
  if (!retry_after.empty()) reply.headers["Retry-After"] = retry_after;
}

void read_pace(Reader& in, Reply& reply) {
  std::int64_t first = 0;
  std::int64_t chunk = 0;
  in.number("first_delay_ms", first);
  in.number("chunk_delay_ms", chunk);
  reply.first_delay = std::chrono::milliseconds(first);
  reply.chunk_delay = std::chrono::milliseconds(chunk);
  in.number("chunk_bytes", reply.chunk_bytes);
  in.number("fragment_bytes", reply.fragment_bytes);
  in.number("write_bytes", reply.write_bytes);
  in.number("stall_after", reply.stall_after);
  in.number("cut_after", reply.cut_after);
  in.number("garbage_after", reply.garbage_after);
  in.flag("answered", reply.answered);
  in.flag("invalid_utf8", reply.invalid_utf8);
  in.flag("done", reply.done);
  bool stream = true;
  in.flag("stream", stream);
  reply.sending = stream ? Sending::kAsAsked : Sending::kWhole;
}

Reply read_reply(Reader& parent, const json::Value& value, const std::string& where) {
  Reader in(value, where);
  in.only({"text",           "reasoning",    "tool_calls",     "finish_reason",  "usage",
           "events",         "status",       "error",          "body",           "content_type",
           "headers",        "retry_after",  "first_delay_ms", "chunk_delay_ms", "chunk_bytes",
           "fragment_bytes", "write_bytes",  "stall_after",    "cut_after",      "garbage_after",
           "answered",       "invalid_utf8", "done",           "stream",         "times"});
  Reply reply;
  in.text("text", reply.text);
  in.text("reasoning", reply.reasoning);
  in.text("finish_reason", reply.finish_reason);
  in.list("tool_calls", [&](const json::Value& call, const std::string& at) {
    reply.calls.push_back(read_call(in, call, at));
  });
  in.list("events", [&](const json::Value& event, const std::string&) { reply.events.push_back(event); });
  if (const json::Value* usage = in.find("usage")) read_usage(in, *usage, reply);
  read_failure(in, reply);
  read_pace(in, reply);
  in.number("times", reply.times);
  parent.adopt(in.result());
  return reply;
}

When read_when(Reader& parent, const json::Value& value, const std::string& where) {
  Reader in(value, where);
  in.only({"last_user_contains", "last_contains", "last_user_matches", "last_matches", "last_role",
           "system_contains", "has_tool", "model", "min_messages"});
  When when;
  in.text("last_user_contains", when.last_user_contains);
  in.text("last_contains", when.last_contains);
  in.text("system_contains", when.system_contains);
  in.text("has_tool", when.has_tool);
  in.text("last_role", when.last_role);
  in.text("model", when.model);
  in.regex("last_user_matches", when.last_user_matches);
  in.regex("last_matches", when.last_matches);
  in.number("min_messages", when.min_messages);
  parent.adopt(in.result());
  return when;
}

Rule read_rule(Reader& parent, const json::Value& value, const std::string& where) {
  Reader in(value, where);
  in.only({"when", "reply", "replies"});
  Rule rule;
  if (const json::Value* when = in.find("when")) rule.when = read_when(in, *when, in.member("when"));
  if (const json::Value* reply = in.find("reply"))
    rule.replies.push_back(read_reply(in, *reply, in.member("reply")));
  in.list("replies", [&](const json::Value& reply, const std::string& at) {
    rule.replies.push_back(read_reply(in, reply, at));
  });
  if (rule.replies.empty()) in.complain("has neither 'reply' nor 'replies'");
  parent.adopt(in.result());
  return rule;
}

std::string content_text(const json::Value& message) {
  const json::Value* content = message.find("content");
  if (content == nullptr) return {};
  if (const std::string* text = content->as_string()) return *text;
  std::string joined;
  if (const json::Array* parts = content->as_array()) {
    for (const json::Value& part : *parts) joined += part.string_or("text");
  }
  return joined;
}

bool fits(const When& when, const Asked& asked) {
  const auto contains = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  if (!contains(asked.last_user, when.last_user_contains) || !contains(asked.last, when.last_contains))
    return false;
  if (!contains(asked.system, when.system_contains)) return false;
  if (!when.last_role.empty() && asked.last_role != when.last_role) return false;
  if (!when.model.empty() && asked.model != when.model) return false;
  if (!when.has_tool.empty() && std::ranges::find(asked.tools, when.has_tool) == asked.tools.end())
    return false;
  if (when.last_user_matches && !when.last_user_matches->found_in(asked.last_user)) return false;
  if (when.last_matches && !when.last_matches->found_in(asked.last)) return false;
  return !when.min_messages || asked.messages >= *when.min_messages;
}

// The next reply of the rule, or nothing when all are used up. The last one stays for ever if `last_stays` and it has no `times`.
enum class AtEnd { kLastStays, kUsedUp };
const Reply* next_of(Rule& rule, AtEnd at_end) {
  while (!rule.replies.empty()) {
    const Reply& first = rule.replies.front();
    const bool last = rule.replies.size() == 1;
    if (last && !first.times && at_end == AtEnd::kLastStays) return &first;
    if (rule.given < static_cast<size_t>(first.times.value_or(1))) {
      ++rule.given;
      return &first;
    }
    rule.replies.erase(rule.replies.begin());
    rule.given = 0;
  }
  return nullptr;
}

}  // namespace

Asked Asked::read(const json::Value& body) {
  Asked asked;
  asked.model = body.string_or("model");
  const json::Value* messages = body.find("messages");
  if (messages != nullptr && messages->is_array()) {
    for (const json::Value& message : *messages->as_array()) {
      ++asked.messages;
      asked.last = content_text(message);
      asked.last_role = message.string_or("role");
      if (asked.last_role == "user") asked.last_user = asked.last;
      if (asked.last_role == "system") asked.system += asked.last;
    }
  }
  const json::Value* tools = body.find("tools");
  if (tools != nullptr && tools->is_array()) {
    for (const json::Value& tool : *tools->as_array()) {
      const json::Value* function = tool.find("function");
      if (function != nullptr) asked.tools.push_back(function->string_or("name"));
    }
  }
  return asked;
}

Result<Script> Script::parse(std::string_view json_text) {
  const Result<json::Value> root = json::parse(json_text);
  if (!root) return fail(Code::kInvalidArgument, "script: {}", root.error().message);
  Reader in(*root, "script");
  in.only({"model", "more_models", "replies", "rules", "default", "instant"});
  Script script;
  in.text("model", script.model_);
  in.flag("instant", script.instant_);
  in.list("more_models", [&](const json::Value& name, const std::string& at) {
    if (name.is_string()) {
      script.more_models_.push_back(*name.as_string());
    } else {
      in.complain(fmt::format("'{}' is no text", at));
    }
  });
  in.list("rules", [&](const json::Value& rule, const std::string& at) {
    script.rules_.push_back(read_rule(in, rule, at));
  });
  in.list("replies", [&](const json::Value& reply, const std::string& at) {
    script.queue_.replies.push_back(read_reply(in, reply, at));
  });
  if (const json::Value* fallback = in.find("default"))
    script.fallback_ = read_reply(in, *fallback, in.member("default"));
  if (Result<> read = in.result(); !read) return fail(std::move(read.error()));
  return script;
}

Reply Script::next(const Asked& asked) {
  const Reply* found = nullptr;
  for (Rule& rule : rules_) {
    if (fits(rule.when, asked)) found = next_of(rule, AtEnd::kLastStays);
    if (found != nullptr) break;
  }
  if (found == nullptr) found = next_of(queue_, AtEnd::kUsedUp);
  Reply reply = found != nullptr ? *found : fallback_;
  for (std::string* text : {&reply.text, &reply.reasoning}) {
    *text = strings::replace_all(std::move(*text), "{last_user}", asked.last_user);
    *text = strings::replace_all(std::move(*text), "{last}", asked.last);
  }
  return reply;
}

}  // namespace chela::testing
