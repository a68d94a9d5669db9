#pragma once

#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "net/http.h"
#include "op/operation.h"

// Errors as each surface shows them (docs/contracts.md, "Values").
namespace chela::gateway {

// Which form an error takes where no operation is known yet.
op::Envelope envelope_for(std::string_view path);

json::Value error_body(const Error& error, op::Envelope envelope);
int error_status(const Error& error, op::Envelope envelope);

// The whole answer, Retry-After and WWW-Authenticate included. `status` 0 = the error's own.
net::HttpResponse error_reply(const Error& error, op::Envelope envelope, int status = 0);

}  // namespace chela::gateway
