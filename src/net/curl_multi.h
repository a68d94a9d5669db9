#pragma once

#include <memory>
#include <optional>
#include <unordered_map>

#include "net/curl_api.h"
#include "net/fd_watch.h"
#include "runtime/asio_loop.h"

namespace chela::net {

// Runs transfers of libcurl on the event loop: its sockets become watches, its timer a timer of the loop. Loop thread only.
class CurlMulti {
 public:
  // What the multi reports to. `curl` never calls back after remove().
  class Transfer {
   public:
    virtual void finished(CURLcode result) = 0;

   protected:
    ~Transfer() = default;
  };

  CurlMulti(runtime::AsioLoop& loop, std::shared_ptr<const CurlApi> api);
  ~CurlMulti();
  CurlMulti(const CurlMulti&) = delete;
  CurlMulti& operator=(const CurlMulti&) = delete;

  const CurlApi& api() const { return *api_; }

  void add(CURL* easy, Transfer& transfer);
  void remove(CURL* easy);

 private:
  static int socket_changed(CURL* easy, curl_socket_t socket, int what, void* self, void* socket_data);
  static int timer_changed(CURLM* multi, long timeout_ms, void* self);

  void watch(curl_socket_t socket, int what);
  void wait(curl_socket_t socket, Ready ready);
  void act(curl_socket_t socket, int events);
  void act_if_due();
  void report_finished();

  struct Watched {
    explicit Watched(runtime::AsioLoop& loop, curl_socket_t socket) : fd(loop, socket) {}
    FdWatch fd;
    int what = CURL_POLL_NONE;
  };

  runtime::AsioLoop& loop_;
  const std::shared_ptr<const CurlApi> api_;
  CURLM* const multi_;
  std::unordered_map<curl_socket_t, Watched> sockets_;
  std::unordered_map<CURL*, Transfer*> transfers_;
  std::optional<runtime::TimerId> timer_;
  bool due_ = false;     // its timer is due at once
  bool posted_ = false;  // somebody looks whether it is
  const std::shared_ptr<CurlMulti*> self_ = std::make_shared<CurlMulti*>(this);  // for who outlives this
};

}  // namespace chela::net
