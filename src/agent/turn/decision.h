#pragma once

#include <optional>
#include <string_view>

namespace chela::agent {

// What a person says to a request for approval.
enum class Decision { kApprove, kAlways, kDeny };

std::string_view decision_name(Decision decision);  // "approve", "always", "deny"
std::optional<Decision> decision_from_name(std::string_view name);

}  // namespace chela::agent
