#include "net/curl_multi.h"

#include <cstdlib>

#include "base/check.h"
#include "base/limits.h"

namespace chela::net {

CurlMulti::CurlMulti(runtime::AsioLoop& loop, std::shared_ptr<const CurlApi> api)
    : loop_(loop), api_(std::move(api)), multi_(api_->multi_init()) {
  CHELA_CHECK(multi_ != nullptr, "curl has no memory");
  api_->multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &CurlMulti::socket_changed);
  api_->multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  api_->multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &CurlMulti::timer_changed);
  api_->multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  api_->multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kMaxIdleClientConnections);
}

CurlMulti::~CurlMulti() {
  CHELA_CHECK(transfers_.empty(), "a transfer outlives its multi handle");
  api_->multi_cleanup(multi_);  // may still call back
  if (timer_) loop_.cancel(*timer_);
}

void CurlMulti::add(CURL* easy, Transfer& transfer) {
  transfers_.emplace(easy, &transfer);
  api_->multi_add_handle(multi_, easy);
}

void CurlMulti::remove(CURL* easy) {
  if (transfers_.erase(easy) > 0) api_->multi_remove_handle(multi_, easy);
}

int CurlMulti::socket_changed(CURL*, curl_socket_t socket, int what, void* self, void*) {
  static_cast<CurlMulti*>(self)->watch(socket, what);
  return 0;
}

void CurlMulti::watch(curl_socket_t socket, int what) {
  if (what == CURL_POLL_REMOVE) {
    sockets_.erase(socket);
    return;
  }
  Watched& watched = sockets_.try_emplace(socket, loop_, socket).first->second;
  watched.what = what;
  if (what & CURL_POLL_IN) wait(socket, Ready::kRead);
  if (what & CURL_POLL_OUT) wait(socket, Ready::kWrite);
  if (!(what & CURL_POLL_IN)) watched.fd.cancel(Ready::kRead);
  if (!(what & CURL_POLL_OUT)) watched.fd.cancel(Ready::kWrite);
}

void CurlMulti::wait(curl_socket_t socket, Ready ready) {
  sockets_.at(socket).fd.wait(ready, [this, socket, ready] {
    act(socket, ready == Ready::kRead ? CURL_CSELECT_IN : CURL_CSELECT_OUT);
    // curl wants to hear of it again until it says otherwise, which it may just have done.
    const auto found = sockets_.find(socket);
    if (found == sockets_.end()) return;
    if (found->second.what & (ready == Ready::kRead ? CURL_POLL_IN : CURL_POLL_OUT)) wait(socket, ready);
  });
}

// curl forbids calls into it from its callbacks: its timer, due at once or not, always goes through the loop.
int CurlMulti::timer_changed(CURLM*, long timeout_ms, void* user) {
  auto* self = static_cast<CurlMulti*>(user);
  if (self->timer_) self->loop_.cancel(*std::exchange(self->timer_, {}));
  self->due_ = timeout_ms == 0;
  if (timeout_ms < 0) return 0;
  if (self->due_) {
    // Every transfer begins so: without a timer of the kernel.
    if (!std::exchange(self->posted_, true))
      self->loop_.post([self = std::weak_ptr<CurlMulti*>(self->self_)] {
        if (const std::shared_ptr<CurlMulti*> there = self.lock()) (*there)->act_if_due();
      });
    return 0;
  }
  self->timer_ =
      self->loop_.call_at(self->loop_.clock().steady() + std::chrono::milliseconds(timeout_ms), [self] {
        self->timer_.reset();
        self->act(CURL_SOCKET_TIMEOUT, 0);
      });
  return 0;
}

void CurlMulti::act_if_due() {
  posted_ = false;
  if (std::exchange(due_, false)) act(CURL_SOCKET_TIMEOUT, 0);
}

void CurlMulti::act(curl_socket_t socket, int events) {
  int running = 0;
  api_->multi_socket_action(multi_, socket, events, &running);
  report_finished();
}

void CurlMulti::report_finished() {
  int left = 0;
  while (const CURLMsg* message = api_->multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const auto found = transfers_.find(message->easy_handle);
    if (found != transfers_.end()) found->second->finished(message->data.result);
  }
}

}  // namespace chela::net
