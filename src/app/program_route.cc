// chela inspect route: which model messages would be given to.

#include <iostream>

#include "app/limits.h"
#include "app/program.h"
#include "base/strings.h"
#include "cli/commands.h"

namespace chela::app {
namespace {

constexpr std::string_view kOperation = "llm::route";

// The arguments of a line: an object with a message, or a text alone.
Result<json::Value> args_of(std::string_view line) {
  Result<json::Value> value = json::parse(line);
  if (!value) return fail(value.error());
  if (value->is_string()) return json::Value::object({{"message", *value}});
  if (!value->is_object())
    return fail(Code::kInvalidArgument, "a line is {}, not an object with 'message'", value->type_name());
  return value;
}

Task<json::Value> answer_line(cli::Client& client, std::string line, std::stop_token stop) {
  if (line.size() > kMaxInspectLineBytes)
    co_return json::Value::object(
        {{"error", fmt::format("a line has more than {} bytes", kMaxInspectLineBytes)}});
  Result<json::Value> args = args_of(line);
  if (args) {
    args->set("detail", true);
    args = co_await client.call(std::string(kOperation), std::move(*args), std::move(stop));
  }
  co_return args ? std::move(*args) : json::Value::object({{"error", args.error().message}});
}

}  // namespace

Task<int> Program::inspect_route(cli::RouteCommand command) {
  const auto use = [this, command](cli::Client& client, const op::Registry& registry) -> Task<int> {
    return command.text.empty()
               ? route_lines(client)
               : cli::run_operation(
                     client, registry,
                     {.operation = std::string(kOperation),
                      .args = json::Value::object({{"message", command.text}, {"detail", true}}),
                      .json = command.json},
                     output_, leaving_.get_token());
  };
  co_return co_await with_client(use, Foundation::Storage::kFile, Fetch::kNo);
}

// One line out for each line in; empty ones are passed over.
Task<int> Program::route_lines(cli::Client& client) {
  std::string line;
  while (!leaving_.stop_requested() && std::getline(std::cin, line)) {
    if (strings::trim(line).empty()) continue;
    output_.line(json::write(co_await answer_line(client, line, leaving_.get_token())));
  }
  co_return 0;
}

}  // namespace chela::app
