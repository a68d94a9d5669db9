#pragma once

#include <string>

#include "base/time.h"
#include "net/http_client.h"

namespace chela::llm::bedrock {

// Keys of an account of AWS. A session token belongs to those that expire.
struct Keys {
  std::string access_key;
  std::string secret_key;
  std::string session_token = {};
  UnixMs expires = 0;  // 0: never
};

// Signs a request by Signature Version 4: what it adds are the headers X-Amz-Date, X-Amz-Security-Token and Authorization. Nothing of what
// is signed (method, address, body, content type) may change afterwards.
void sign(net::ClientRequest& request, const Keys& keys, std::string_view region, std::string_view service,
          UnixMs now);

}  // namespace chela::llm::bedrock
