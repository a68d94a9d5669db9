#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/json.h"

// {{<call_id>.<field>}} in the arguments of a traced call: what the result of an earlier call says, for ids that are made while the
// trace runs.
namespace chela::agent::traces {

// A tool's result as the model reads it, without the frame of what comes from outside.
std::string_view without_frame(std::string_view text);

// Texts in `arguments` with every such mark replaced from the results, which are what the model reads, by call id. A field may lead
// deeper (a.b.0). A mark that nothing stands for stays as it is.
json::Value filled(json::Value arguments, const std::map<std::string, std::string>& results);

}  // namespace chela::agent::traces
