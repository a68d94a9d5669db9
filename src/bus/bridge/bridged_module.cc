#include "bus/bridge/bridged_module.h"

#include <algorithm>

#include "bus/bridge/forwarding.h"

namespace chela::bus::bridge {
namespace {

class BridgedModule final : public Module, public Enqueuer {
 public:
  BridgedModule(Bus& bus, runtime::IdSource& ids, std::unique_ptr<Remote> remote, Bridged bridged)
      : bus_(bus),
        remote_(std::move(remote)),
        bridged_(std::move(bridged)),
        triggers_(bus, *remote_, ids, bridged_.delivery) {}

  Task<Result<>> start() override {
    for (const std::string_view each : bridged_.functions) {
      Result<> added = forward(bus_, *remote_,
                               {.local = std::string(each),
                                .remote = std::string(each),
                                .description = fmt::format("{} of {}", each, remote_->options().where)});
      if (!added) co_return added;
      if (each == kEnqueue) bus_.set_enqueuer(*this);
    }
    for (const TriggerType& each : bridged_.trigger_types) {
      if (Result<> added = bus_.add_trigger_type(each, triggers_); !added) co_return added;
    }
    co_return Result<>();
  }
  void opened() override { remote_->start(); }
  Task<> stop() override { return remote_->stop(); }
  json::Value status() const override {
    return json::Value::object({{"bridge_url", remote_->options().where},
                                {"connected", remote_->connected()},
                                {"triggers", triggers_.size()}});
  }

  // The call is made by the other engine's queue: its function has to be there.
  Task<Result<std::string>> enqueue(op::CallContext context, EnqueueRequest request) override {
    const std::string data = json::write(json::Value::object(
        {{"queue", request.queue}, {"function_id", request.function_id}, {"data", std::move(request.data)}}));
    const Result<std::string> receipt = co_await remote_->call({.function_id = std::string(kEnqueue),
                                                                .data = data,
                                                                .traceparent = request.traceparent,
                                                                .baggage = request.baggage,
                                                                .stop = context.stop});
    if (!receipt) co_return fail(receipt.error());
    const Result<json::Value> value = json::parse(*receipt);
    if (!value || value->string_or("messageReceiptId").empty())
      co_return fail(Code::kUpstream, "{} gave no receipt", remote_->options().where);
    co_return value->string_or("messageReceiptId");
  }

 private:
  static constexpr std::string_view kEnqueue = "engine::queue::enqueue";

  Bus& bus_;
  const std::unique_ptr<Remote> remote_;
  const Bridged bridged_;
  RemoteTriggers triggers_;
};

}  // namespace

bool wants_bridge(const json::Value& config, std::span<const std::string_view> names) {
  const json::Value* adapter = config.find("adapter");
  if (adapter == nullptr) return false;
  const std::string name = adapter->string_or("name", adapter->string_or("class"));
  return std::ranges::find(names, name) != names.end();
}

Result<Peer> read_adapter_peer(ConfigReader& module) {
  ConfigReader adapter = module.section("adapter");
  adapter.text("name");
  adapter.text("class");
  ConfigReader config = adapter.section("config");
  Peer peer = read_peer(config, "bridge_url");
  if (const Result<> good = config.finish(); !good) return fail(good.error());
  if (const Result<> good = adapter.finish(); !good) return fail(good.error());
  return peer;
}

Result<std::unique_ptr<Module>> make_bridged(ModuleParts& parts, const json::Value& config, Bridged bridged) {
  ConfigReader reader(std::string(bridged.module), config);
  const Result<Peer> peer = read_adapter_peer(reader);
  if (!peer) return fail(peer.error());
  if (const Result<> good = reader.finish(); !good) return fail(good.error());
  std::unique_ptr<Remote> remote =
      make_remote(parts, *peer, {.where = {}, .name = fmt::format("bridge-{}", bridged.module)});
  return std::make_unique<BridgedModule>(parts.bus, parts.ids, std::move(remote), std::move(bridged));
}

}  // namespace chela::bus::bridge
