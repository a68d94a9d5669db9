#pragma once

#include <memory>
#include <optional>

#include "bus/module.h"
#include "bus/provider.h"
#include "bus/queue/queues.h"

namespace chela::bus::queue {

// Where the queues are kept: nothing is in memory only.
using OpenStore = std::function<Task<Result<std::unique_ptr<store::Records>>>()>;

// The queues on the bus: the action `enqueue`, the functions of queue_functions.h, the trigger types `queue` and `durable:subscriber`.
class QueueModule final : public Module, public TriggerProvider, public Enqueuer {
 public:
  QueueModule(Bus& bus, std::unique_ptr<Queues> queues, OpenStore open)
      : bus_(bus), queues_(std::move(queues)), open_(std::move(open)) {}

  Task<Result<>> start() override;
  void opened() override { queues_->begin(); }
  Task<> stop() override;
  json::Value status() const override;

  Result<> bind(BoundTriggerPtr trigger) override;
  void release(const BoundTrigger& trigger) override;

  Task<Result<std::string>> enqueue(op::CallContext context, EnqueueRequest request) override;

 private:
  Bus& bus_;
  std::unique_ptr<Queues> queues_;
  OpenStore open_;
};

// What the configuration of the module says.
struct ModuleSettings {
  Settings queues;
  std::optional<std::string> file_path;  // of a directory; nothing: kept in memory
};
Result<ModuleSettings> read_settings(const json::Value& config);

// "modules::queue::QueueModule", "iii-queue"
ModuleKind kind();

}  // namespace chela::bus::queue
