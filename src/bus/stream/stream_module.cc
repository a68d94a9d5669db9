#include "bus/adapter_config.h"
#include "bus/bridge/bridged_module.h"
#include "bus/stream/stream.h"
#include "bus/stream/stream_server.h"

namespace chela::bus::stream {
namespace {

constexpr std::string_view kOldBridge = "modules::stream::adapters::Bridge";
constexpr std::string_view kBridge = "bridge";
constexpr std::int64_t kStreamPort = 3112;
constexpr auto kGrace = std::chrono::seconds(1);  // for sockets to take what is left

class StreamModule final : public Module {
 public:
  StreamModule(ModuleParts& parts, StreamOptions options, StreamServerOptions server,
               std::unique_ptr<FarValues> far)
      : streams_(parts.bus, std::move(options), parts.open_records, std::move(far)),
        server_(parts.loop, streams_.session_parts(), std::move(server)) {}

  Task<Result<>> start() override {
    Result<> started = co_await streams_.start();
    if (!started) co_return started;
    co_return server_.listen();
  }
  void opened() override { streams_.opened(); }
  // Those who listen leave while their triggers can still be told.
  Task<> stop() override {
    co_await server_.stop(kGrace);
    co_await streams_.stop();
  }
  json::Value status() const override {
    json::Value status = streams_.status();
    status.set("port", server_.port());
    status.set("sockets", server_.sockets());
    return status;
  }

 private:
  Streams streams_;
  StreamServer server_;
};

Result<std::unique_ptr<Module>> make(ModuleParts& parts, const json::Value& config) {
  constexpr std::string_view kOwn[] = {"modules::stream::adapters::KvStore", "kv", kOldBridge, kBridge};
  constexpr std::string_view kForeign[] = {"modules::stream::adapters::RedisAdapter", "redis"};
  constexpr std::string_view kBridges[] = {kOldBridge, kBridge};
  ConfigReader reader("stream", config);
  std::unique_ptr<FarValues> far;
  json::Value keep_config = json::Value::object();
  if (bridge::wants_bridge(config, kBridges)) {
    const Result<bridge::Peer> peer = bridge::read_adapter_peer(reader);
    if (!peer) return fail(peer.error());
    far = std::make_unique<FarValues>(
        bridge::make_remote(parts, *peer, {.where = {}, .name = "bridge-stream"}), parts.ids);
  } else {
    Result<json::Value> adapter = adapter_config(reader, {.own = kOwn, .foreign = kForeign});
    if (!adapter) return fail(adapter.error());
    keep_config = std::move(*adapter);
  }
  StreamServerOptions server{
      .host = reader.text("host", "127.0.0.1"),
      .port = static_cast<std::uint16_t>(reader.integer("port", kStreamPort, 0, 65535)),
      .authenticate = parts.authenticate,
      .auth_function = reader.text("auth_function")};
  if (const Result<> good = reader.finish(); !good) return fail(good.error());
  ConfigReader keep("stream: adapter: config", keep_config);
  StreamOptions options;
  options.keep = items::read_keep_config(keep, parts, "stream_store");
  options.held_events = static_cast<size_t>(keep.integer("channel_size", kHeldEvents, 1, kMaxHeldEvents));
  if (const Result<> good = keep.finish(); !good) return fail(good.error());
  server.held_events = options.held_events;
  return std::make_unique<StreamModule>(parts, std::move(options), std::move(server), std::move(far));
}

}  // namespace

ModuleKind kind() { return {.names = {"modules::stream::StreamModule", "iii-stream"}, .make = make}; }

}  // namespace chela::bus::stream
