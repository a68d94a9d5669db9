#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "agent/turn/state.h"
#include "base/json.h"

// The values that records of several kinds are made of, as JSON. An absent member reads as the default, so that members can be added; one of
// another type reads as an absent one.
namespace chela::agent::turn {

json::Value member(const json::Value& body, std::string_view key);       // null when absent
const json::Array& list(const json::Value& body, std::string_view key);  // empty when absent

json::Value usage_json(const llm::Usage& usage);
llm::Usage usage_from(const json::Value& value);

json::Value call_json(const llm::ToolCall& call);
json::Value prepared_json(const tools::PreparedCall& call);
tools::PreparedCall prepared_from(const json::Value& value);

void set_attachments(json::Object& body, const std::vector<Attachment>& attachments);
std::vector<Attachment> attachments_from(const json::Value& body);

void add_choice(json::Object& body, llm::ToolChoice choice, const std::string& name);
llm::ToolChoice choice_from(const json::Value& body);

std::optional<dialects::Refused> refused_from_name(std::string_view name);

json::Value terms_json(const Terms& terms);
Terms terms_from(const json::Value& value);

Error error_from(const json::Value& value);  // of json::from_error()

json::Array permissions_json(const op::Permissions& permissions);
// Bodies older than the member were written for callers who could do everything.
op::Permissions permissions_from(const json::Value& body);

std::optional<CredentialEnd> credential_end_from_name(std::string_view name);

}  // namespace chela::agent::turn
