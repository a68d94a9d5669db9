#pragma once

#include <stop_token>

#include "cli/client.h"
#include "cli/command_line.h"
#include "cli/output.h"
#include "op/registry.h"

namespace chela::cli {

// Calls the operation and prints its value, or its events as lines. Gives the exit code.
Task<int> run_operation(Client& client, const op::Registry& registry, OperationCommand command,
                        const Output& output, std::stop_token stop);

// One clear line on stderr; gives the error's exit code.
int report_error(const Error& error, const Output& output);

// What people read of an operation's value; pretty JSON for operations without a text of their own.
std::string text_for(std::string_view operation, const json::Value& value);

}  // namespace chela::cli
