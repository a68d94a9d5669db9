#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
    const StreamLimit& stream_limit = kWholeBodies;                  // may be empty; outlives the parser
  };

  static inline const StreamLimit kWholeBodies = {};

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

  // After the head: whether the body is taken piece by piece. Its head is then taken once, and what comes goes to take_body().
  bool streams() const;
  std::string take_body();
  size_t body_ahead() const;  // bytes that take_body() would give
  // How many bytes of the body are missing; nothing while nobody can know.
  std::optional<std::uint64_t> missing() const;
  // What comes of the body is counted and checked, not kept.
  void drop_body();

  // After kDone, of a streamed body after the head:
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
