#pragma once

#include <string_view>

#include "base/result.h"

namespace chela::api {

// An error about one field of a /v1 request: the envelope shows `param`.
Failure bad_param(std::string_view param, std::string_view what);

// The error that a /v1 client sees for a failure of the model behind us. The provider refusing our credentials is no fault of the client's
// token: it becomes kUpstream with the code upstream_auth. A model that the provider does not know is model_not_found.
Error upstream_error(Error error);

// 404 model_not_found for an agent that there is none of.
Failure no_such_model(std::string_view model);

}  // namespace chela::api
