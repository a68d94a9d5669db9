#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/services.h"
#include "base/result.h"
#include "op/principal.h"

namespace chela::api {

// Which models a client's key may name: its permissions "model:<pattern>". A pattern is a name ("gpt-4o", "openai/gpt-4o",
// "chela/poet"), or the beginning of names with a '*' at the end. A key without such a permission may name all.

inline constexpr std::string_view kModelPermission = "model:";

// The patterns of the principal; none: all models.
std::vector<std::string> model_patterns(const op::Principal& principal);

// Whether one of the patterns covers one of the names.
bool covers(const std::vector<std::string>& patterns, const std::vector<std::string>& names);

// Whether the principal may name the model or agent. A model is also known by its provider's name of it, with the provider
// before it, and without it where the name that was given names no provider. "auto" is no model: the word itself has to be covered.
bool may_use_model(const Services& services, const op::Principal& principal, std::string_view model);
// kPermissionDenied, naming the model, when it may not.
Result<> check_model(const Services& services, const op::Principal& principal, std::string_view model);
// The same for an agent ("" is the default one), and for what is said to it: "/model NAME" chooses a model.
Result<> check_agent(const Services& services, const op::Principal& principal, std::string_view agent,
                     std::string_view said);

}  // namespace chela::api
