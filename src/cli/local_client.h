#pragma once

#include "cli/client.h"
#include "op/registry.h"
#include "runtime/event_loop.h"
#include "runtime/task_group.h"

namespace chela::cli {

// Calls the operations of an engine in this process, as the person who owns it.
class LocalClient final : public Client {
 public:
  LocalClient(runtime::EventLoop& loop, const op::Registry& registry, op::Principal owner)
      : loop_(loop), registry_(registry), owner_(std::move(owner)), streams_(loop) {}

  Task<Result<json::Value>> call(std::string operation, json::Value args, std::stop_token stop) override;
  Task<Result<std::unique_ptr<EventReader>>> open(std::string operation, json::Value args,
                                                  std::stop_token stop) override;
  Task<> close() override;

 private:
  Result<std::shared_ptr<const op::Operation>> find(const std::string& operation) const;
  op::CallContext context(std::stop_token stop) const;

  runtime::EventLoop& loop_;
  const op::Registry& registry_;
  const op::Principal owner_;
  runtime::TaskGroup streams_;
};

}  // namespace chela::cli
