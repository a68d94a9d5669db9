#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "net/curl_multi.h"
#include "net/http_client.h"
#include "net/url.h"
#include "runtime/completion.h"

namespace chela::net {

// One request and its response over curl: no redirects, they are the client's. Loop thread only; the destructor cancels.
class CurlTransfer final : public ClientStream, private CurlMulti::Transfer {
 public:
  enum class Mode {
    kStream,  // the transfer pauses while the reader has kMaxClientQueuedBytes before it
    kWhole,   // all of the body is wanted
  };

  // The URL has passed the request's egress policy.
  static Result<std::unique_ptr<CurlTransfer>> start(runtime::AsioLoop& loop,
                                                     std::shared_ptr<CurlMulti> multi,
                                                     const ClientRequest& request, const Url& url, Mode mode);
  ~CurlTransfer() override;

  // Waits for the response's headers.
  Task<Result<>> begun(std::stop_token stop);

  int status() const override { return status_; }
  const Headers& headers() const override { return headers_; }
  Task<Result<std::optional<std::string>>> read(std::stop_token stop) override;
  // Waits for the end and gives what is not read yet.
  Task<Result<std::string>> rest(std::stop_token stop);

 private:
  CurlTransfer(runtime::AsioLoop& loop, std::shared_ptr<CurlMulti> multi, const ClientRequest& request,
               const Url& url, Mode mode);
  Result<> set_headers(const ClientRequest& request);
  void set_options(const ClientRequest& request, const Url& url);
  void set_method(const ClientRequest& request);

  static size_t on_header(char* data, size_t size, size_t count, void* self);
  static size_t on_body(char* data, size_t size, size_t count, void* self);
  static curl_socket_t on_open(void* self, curlsocktype purpose, curl_sockaddr* address);
  bool take_header(std::string_view line);
  size_t take_body(std::string_view bytes);

  void finished(CURLcode result) override;
  Error explain(CURLcode result) const;
  void end(std::optional<Error> error);
  void watch_time();
  Task<bool> changed(std::stop_token stop);
  Error cancelled();

  runtime::AsioLoop& loop_;
  const std::shared_ptr<CurlMulti> multi_;
  const CurlApi& api_;
  CURL* const easy_;
  curl_slist* header_list_ = nullptr;

  const std::string where_;  // host and port, for messages
  const std::string body_;   // curl reads it while sending
  const std::shared_ptr<const EgressPolicy> egress_;
  const std::chrono::milliseconds stall_timeout_;
  const std::optional<SteadyTime> deadline_;
  const size_t max_body_;
  const Mode mode_;

  int status_ = 0;
  Headers headers_;
  size_t header_bytes_ = 0;
  bool headers_done_ = false;
  std::string unread_;
  size_t received_ = 0;
  bool paused_ = false;
  bool done_ = false;
  std::optional<Error> error_;    // why it ended, when not well
  std::optional<Error> refusal_;  // by the egress policy, of an address
  SteadyTime last_byte_;
  std::optional<runtime::TimerId> timer_;
  std::optional<runtime::Completion<bool>> waiter_;
};

}  // namespace chela::net
