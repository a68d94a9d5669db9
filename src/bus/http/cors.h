#pragma once

#include <optional>
#include <string>
#include <vector>

#include "net/http.h"

namespace chela::bus::http {

// Which pages of other origins may call. Empty lists and "*" mean any.
struct CorsOptions {
  std::vector<std::string> origins = {};
  std::vector<std::string> methods = {};
  std::vector<std::string> headers = {};
};

class Cors {
 public:
  explicit Cors(CorsOptions options);

  // The answer to a browser that asks whether it may send a request; nothing for other requests.
  std::optional<net::HttpResponse> preflight(const net::HttpRequest& request) const;
  // Adds what a browser wants to see on the answer to the request.
  void allow(const net::HttpRequest& request, net::Headers& answer) const;

 private:
  CorsOptions options_;  // an empty list is any
};

}  // namespace chela::bus::http
