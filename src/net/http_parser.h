#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/http.h"
#include "net/http_wire.h"

namespace chela::net {

// Turns bytes into one request; does no I/O. It lives only while a request is arriving, so an idle connection has none. After kDone or
// kRefused it takes no more bytes.
class RequestParser {
 public:
  struct Limits {
    size_t max_header_bytes;
    const std::function<size_t(std::string_view path)>& body_limit;  // not empty; outlives the parser
  };

  explicit RequestParser(Limits limits);
  ~RequestParser();

  enum class State { kNeedMore, kDone, kRefused };
  // How the bytes are cut does not change the outcome.
  State feed(std::string_view bytes);

  // True once, when the headers ask for "100 Continue" before the body is sent.
  bool take_continue();

  // "" until the request's first line is there.
  const std::string& path() const;
  // Whether the head is complete.
  bool head_done() const;

  // After kDone:
  HttpRequest take_request();
  std::string take_rest();  // bytes after the request
  KeepAlive keep_alive() const;
  int minor_version() const;

  // After kRefused: the answer.
  const Refusal& refusal() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace chela::net
