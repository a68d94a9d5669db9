#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/egress.h"

namespace chela::bus::http_functions {

enum class Addresses { kPublic, kAny };
enum class Schemes { kHttps, kHttpToo };

struct Security {
  std::vector<std::string> hosts = {"*"};  // patterns: "*" is any run of characters
  Addresses addresses = Addresses::kPublic;
  Schemes schemes = Schemes::kHttps;
};

// Whether the text matches a pattern in which "*" stands for any run of characters, ASCII case aside.
bool matches(std::string_view pattern, std::string_view text);

// Where functions may be called, by the configuration. Addresses are checked when a connection is made, so a name that resolves
// differently the second time gains nothing.
std::shared_ptr<const net::EgressPolicy> guard(Security security);

}  // namespace chela::bus::http_functions
