#include "api/openai_errors.h"

namespace chela::api {

Failure bad_param(std::string_view param, std::string_view what) {
  return fail(Error{.code = Code::kInvalidArgument, .message = fmt::format("{}: {}", param, what)}.with(
      "param", std::string(param)));
}

Failure no_such_model(std::string_view model) {
  return fail(
      Error{.code = Code::kNotFound,
            .message = fmt::format("there is no model '{}'; GET /v1/models lists what there is", model)}
          .with("param", "model")
          .with("code", "model_not_found"));
}

Error upstream_error(Error error) {
  switch (error.code) {
    case Code::kUnauthenticated:
    case Code::kPermissionDenied:
      error.code = Code::kUpstream;
      error.message = fmt::format("the model's provider refused our credentials: {}", error.message);
      error.with("code", "upstream_auth");
      break;
    case Code::kNotFound:
      error.with("param", "model").with("code", "model_not_found");
      break;
    case Code::kInvalidArgument:
      if (error.detail("reason") == "context_length") error.with("code", "context_length_exceeded");
      break;
    default:
      break;
  }
  return error;
}

}  // namespace chela::api
