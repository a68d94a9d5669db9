#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/scope.h"

// Whose call it is, inside W3C baggage: chela.realm, chela.user and chela.agent, and chela.call, the callee's id of it. Baggage is the text between the quotes of the wire.
namespace chela::bus {

// The scope that a baggage names; nothing without realm and user, or when a value is malformed.
std::optional<Scope> scope_in(std::string_view baggage);

// The call that it names as well.
std::optional<std::string> call_in(std::string_view baggage);

// The baggage with that scope, and that call, instead of any it named; without one, only freed of what it named.
std::string with_scope(std::string_view baggage, const std::optional<Scope>& scope,
                       std::string_view call = {});

// How many triggers have fired one behind the other up to the call, chela.hops; 0 when it does not say.
size_t hops_in(std::string_view baggage);
// The baggage with that many, without a scope.
std::string with_hops(std::string_view baggage, size_t hops);

}  // namespace chela::bus
