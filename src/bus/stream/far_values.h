#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "bus/bridge/remote.h"
#include "bus/functions.h"
#include "bus/items/items.h"
#include "bus/stream/event.h"
#include "bus/stream/interest.h"

namespace chela::bus::stream {

// The values of streams when another engine has them: calls are passed on to it, and it tells of the changes of every stream that
// somebody here hears of, whoever makes them. What changes while there is no connection is not told. Loop thread only.
class FarValues final : public Interest {
 public:
  using OnChange = std::function<void(const Place&, const std::string& item, const items::Text& envelope)>;

  FarValues(std::unique_ptr<bridge::Remote> remote, runtime::IdSource& ids);

  void tell_changes(OnChange on_change) { on_change_ = std::move(on_change); }
  void start() { remote_->start(); }
  Task<> stop() { return remote_->stop(); }

  Task<Result<std::string>> call(bridge::RemoteCall call) { return remote_->call(std::move(call)); }
  // As Values::show().
  Task<Result<std::string>> show(Place place, std::optional<std::string> item, std::stop_token stop);

  void heard(const std::string& stream) override;
  void unheard(const std::string& stream) override;

  json::Value status() const;

 private:
  struct Heard {
    size_t count = 0;
    std::string trigger_id;
  };
  Task<Result<std::string>> changed(bridge::ServedCall call);

  const std::unique_ptr<bridge::Remote> remote_;
  runtime::IdSource& ids_;
  const std::string function_id_;  // that the other engine tells of changes
  OnChange on_change_;
  std::map<std::string, Heard, std::less<>> heard_;  // by stream
};

}  // namespace chela::bus::stream
