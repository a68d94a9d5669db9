#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bus/bus.h"
#include "bus/items/fields.h"
#include "bus/items/keep_config.h"
#include "bus/module.h"
#include "bus/stream/hub.h"
#include "bus/stream/limits.h"
#include "bus/stream/session.h"
#include "bus/stream/stream_triggers.h"
#include "bus/stream/values.h"

namespace chela::bus::stream {

struct StreamOptions {
  items::KeepConfig keep = {};
  size_t held_events = kHeldEvents;
};

// The functions stream::get, set, delete, update, list, list_groups, list_all, send and the triggers of streams, each user's own. A change is
// answered, and told, when it is as durable as it will be. The socket is stream_server.h. Loop thread only.
class Streams {
 public:
  // With `far` the values are kept by another engine.
  Streams(Bus& bus, StreamOptions options, store::OpenRecords open, std::unique_ptr<FarValues> far = nullptr);

  Task<Result<>> start();
  void opened();
  Task<> stop();

  Session::Parts session_parts() {
    return {.bus = bus_, .values = values_, .hub = hub_, .triggers = triggers_};
  }
  const StreamOptions& options() const { return options_; }
  json::Value status() const;

 private:
  using Answer = Task<Result<std::string>> (Streams::*)(TextCall);
  // What a call is about.
  struct Target {
    Place place;
    std::string item;
    std::string function;  // that stands for the operation; "" = none

    items::Address address(const std::string& group) const {
      return {.tenant = place.tenant, .group = group, .key = item};
    }
  };

  static items::ItemLimits limits();
  Result<Target> target_of(items::Fields& fields, const TextCall& call, std::string_view operation) const;
  Task<Result<std::string>> get(TextCall call);
  Task<Result<std::string>> set(TextCall call);
  Task<Result<std::string>> erase(TextCall call);
  Task<Result<std::string>> update(TextCall call);
  Task<Result<std::string>> list(TextCall call);
  Task<Result<std::string>> list_groups(TextCall call);
  Task<Result<std::string>> list_all(TextCall call);
  Task<Result<std::string>> send(TextCall call);
  // A change that a worker's function made; told by the old and the new value that it gives.
  Task<Result<std::string>> by_override(Target target, op::CallContext context, json::Value data,
                                        std::string traceparent, std::string baggage);
  Task<Result<>> settle(Target target, items::Change& change, const TextCall& call);
  void tell(const Target& target, const items::Text& before, const items::Text& after,
            std::string_view traceparent, std::string_view baggage);

  // What the other engine says, unless a function here stands for the operation.
  Task<Result<std::string>> ask_far(TextCall call, std::string function_id, Answer here);

  Bus& bus_;
  const StreamOptions options_;
  const store::OpenRecords open_;
  const std::unique_ptr<FarValues> far_;  // null: the values are here
  Scanner scanner_;
  Values values_;
  Hub hub_;
  StreamTriggers triggers_;
};

// "modules::stream::StreamModule", "iii-stream"
ModuleKind kind();

}  // namespace chela::bus::stream
