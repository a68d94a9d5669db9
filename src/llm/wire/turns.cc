#include "llm/wire/turns.h"

#include <algorithm>
#include <map>

#include "base/strings.h"

namespace chela::llm::wire {
namespace {

constexpr std::string_view kNoResult = "(no result of this call is known)";
constexpr std::string_view kOpening = "(the conversation goes on)";

class Orderer {
 public:
  void add(Message message) {
    if (message.role == Role::kTool) {
      const auto open = std::ranges::find(open_, message.tool_call_id);
      if (open != open_.end()) {
        open_.erase(open);
      } else {
        message = as_user_text(std::move(message));
      }
    }
    if (message.role != Role::kTool) close();
    for (const ToolCall& call : message.tool_calls) open_.push_back(call.id);
    out_.push_back(std::move(message));
  }

  std::vector<Message> finish() {
    close();
    return std::move(out_);
  }

 private:
  static Message as_user_text(Message message) {
    const std::string_view name = message.name.empty() ? "a tool" : std::string_view(message.name);
    return Message{.role = Role::kUser,
                   .content = fmt::format("[Earlier result of {}]\n{}", name, message.content)};
  }

  void close() {
    for (std::string& id : open_) {
      out_.push_back(
          Message{.role = Role::kTool, .content = std::string(kNoResult), .tool_call_id = std::move(id)});
    }
    open_.clear();
  }

  std::vector<Message> out_;
  std::vector<std::string> open_;  // announced and not answered yet
};

bool says_error(const std::string& result) {
  if (!result.starts_with('{')) return false;
  const Result<json::Value> value = json::parse(result);
  return value && value->bool_or("is_error", false);
}

class Sides {
 public:
  void add(Message message) {
    if (message.role == Role::kSystem) return add_system(std::move(message));
    Turn& turn = turn_of(message.role == Role::kAssistant ? Role::kAssistant : Role::kUser);
    if (message.role == Role::kTool) return add_result(turn, std::move(message));
    // Of two messages in a row each would claim the turn's beginning.
    const bool alone = turn.parts.empty();
    turn.provider_data = alone ? std::move(message.provider_data) : std::string();
    if (!is_blank(message.content)) turn.parts.push_back({.text = std::move(message.content)});
    for (Image& image : message.images)
      turn.parts.push_back({.kind = Part::Kind::kImage, .image = std::move(image)});
    for (ToolCall& call : message.tool_calls) {
      names_[call.id] = call.name;
      turn.parts.push_back({.kind = Part::Kind::kCall, .call = std::move(call)});
    }
  }

  Turns finish() {
    std::erase_if(out_.turns, [](const Turn& turn) { return turn.parts.empty(); });
    if (out_.turns.empty() || out_.turns.front().role != Role::kUser)
      out_.turns.insert(out_.turns.begin(), {.parts = {{.text = std::string(kOpening)}}});
    // What was empty may have parted two turns of one side.
    for (size_t i = 1; i < out_.turns.size();) {
      if (out_.turns[i].role != out_.turns[i - 1].role) {
        ++i;
        continue;
      }
      std::ranges::move(out_.turns[i].parts, std::back_inserter(out_.turns[i - 1].parts));
      out_.turns[i - 1].provider_data.clear();
      out_.turns.erase(out_.turns.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return std::move(out_);
  }

 private:
  void add_system(Message message) {
    if (is_blank(message.content)) return;
    if (out_.turns.empty()) {
      if (!out_.system.empty()) out_.system += "\n\n";
      out_.system += message.content;
      return;
    }
    turn_of(Role::kUser).parts.push_back({.text = fmt::format("[System]\n{}", message.content)});
  }

  void add_result(Turn& turn, Message message) {
    const auto known = names_.find(message.tool_call_id);
    turn.parts.push_back({.kind = Part::Kind::kResult,
                          .text = std::move(message.content),
                          .call = {.id = std::move(message.tool_call_id),
                                   .name = known != names_.end() ? known->second : message.name,
                                   .arguments = {}}});
    turn.parts.back().is_error = says_error(turn.parts.back().text);
  }

  Turn& turn_of(Role role) {
    if (out_.turns.empty() || out_.turns.back().role != role) out_.turns.push_back({.role = role});
    return out_.turns.back();
  }

  Turns out_;
  std::map<std::string, std::string> names_;  // of calls, by id
};

}  // namespace

bool is_blank(std::string_view text) { return strings::trim(text).empty(); }

std::vector<Message> well_ordered(std::vector<Message> messages) {
  Orderer orderer;
  for (Message& message : messages) orderer.add(std::move(message));
  return orderer.finish();
}

bool has_tool_messages(const std::vector<Message>& messages) {
  return std::ranges::any_of(messages, [](const Message& message) {
    return message.role == Role::kTool || !message.tool_calls.empty();
  });
}

std::vector<Message> without_tool_messages(std::vector<Message> messages) {
  messages = well_ordered(std::move(messages));
  std::map<std::string, std::string> names;  // of calls, by id
  for (Message& message : messages) {
    for (const ToolCall& call : message.tool_calls) {
      names[call.id] = call.name;
      if (!message.content.empty()) message.content += '\n';
      message.content += fmt::format("[Called tool `{}` with arguments: {}]", call.name, call.arguments);
    }
    message.tool_calls.clear();
    message.provider_data.clear();
    if (message.role != Role::kTool) continue;
    const auto known = names.find(message.tool_call_id);
    const std::string name = known != names.end() ? known->second : message.name;
    message = {.role = Role::kUser,
               .content = fmt::format("[Tool `{}` returned: {}]", name, message.content)};
  }
  return messages;
}

Turns as_turns(std::vector<Message> messages) {
  Sides sides;
  for (Message& message : well_ordered(std::move(messages))) sides.add(std::move(message));
  return sides.finish();
}

json::Value arguments_object(const ToolCall& call) {
  Result<json::Value> value = json::parse(call.arguments);
  return value && value->is_object() ? std::move(*value) : json::Value::object();
}

}  // namespace chela::llm::wire
