#include "agent/dialects/inspect.h"

#include "agent/dialects/parser.h"

namespace chela::agent::dialects {
namespace {

using json::Value;

chela::Result<Parser::Result> parse_line(std::string_view line) {
  chela::Result<Value> input = json::parse(line);
  if (!input) return fail(input.error());
  const Value* text = input->find("text");
  if (text == nullptr || !text->is_string())
    return fail(Code::kInvalidArgument, "expected {{\"text\": ..., \"tools\": [...]}}");
  std::vector<Tool> tools;
  if (const Value* listed = input->find("tools"); listed != nullptr && listed->is_array()) {
    for (const Value& each : *listed->as_array()) {
      const Value* parameters = each.find("parameters");
      tools.push_back(
          {.name = each.string_or("name"), .parameters = parameters != nullptr ? *parameters : Value()});
    }
  }
  return parse(*text->as_string(), ToolSet(std::move(tools)));
}

}  // namespace

std::string inspect_line(std::string_view line) {
  const chela::Result<Parser::Result> parsed = parse_line(line);
  Value out = Value::object({{"text", parsed ? parsed->text : std::string()}, {"calls", Value::array()}});
  if (!parsed) {
    out.set("error", parsed.error().message);
    return json::write(out);
  }
  for (const Call& each : parsed->calls) {
    Value call = Value::object({{"name", each.name}, {"arguments", each.arguments}});
    if (!each.id.empty()) call.set("id", each.id);
    out.find("calls")->push_back(std::move(call));
  }
  return json::write(out);
}

}  // namespace chela::agent::dialects
