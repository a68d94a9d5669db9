#pragma once

#include <string>

#include "base/error.h"
#include "bus/worker.h"
#include "net/http.h"

namespace chela::bus::http {

// A request that ends without an answer of its function.
struct Failure {
  int status;
  std::string code;  // of the newer envelope: "NOT_FOUND", or the function's own
  std::string message;
  std::string error_id = {};  // under which the log knows it; "" for what the caller got wrong
};

Failure not_found(std::string_view method, std::string_view path);
Failure not_allowed(std::string_view method, std::string_view path);
Failure too_large(size_t limit);
// Of a body whose rest did not come or cannot be taken.
Failure cut_body(const Error& error);
Failure condition_not_met();
// Of a function, condition or middleware. `error_id` is for what the caller can do nothing about.
Failure failed_call(const Error& error, std::string error_id);
Failure timed_out(std::string_view what);
// The engine stops before there is an answer.
Failure stopping();
Failure bad_response(const Error& error, std::string error_id);

// As clients of the worker's SDK expect it: {"error":{"code","message","error_id"?}} since 0.19, before that flat ones. Without a worker
// the newer.
net::HttpResponse response_of(const Failure& failure, const Worker* owner);

}  // namespace chela::bus::http
