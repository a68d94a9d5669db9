#include "bus/observability/observability.h"

#include "bus/bus_fixture.h"
#include "bus/observability/limits.h"

namespace chela::bus::observability {
namespace {

using json::Value;

// Notes what webhooks are told.
class Webhooks final : public net::HttpClient {
 public:
  Task<Result<net::HttpResponse>> fetch(net::ClientRequest request, std::stop_token) override {
    told.push_back(std::move(request));
    co_return net::HttpResponse{.status = 204};
  }
  Task<Result<std::unique_ptr<net::ClientStream>>> open(net::ClientRequest, std::stop_token) override {
    co_return fail(Code::kUnsupported, "not here");
  }
  std::vector<net::ClientRequest> told;
};

class ObservabilityTest : public BusTest {
 protected:
  Observability& start(std::string_view config = "{}") {
    Result<Options> options = read_options(*json::parse(config));
    EXPECT_TRUE(options) << options.error().text();
    module = std::make_unique<Observability>(
        Observability::Parts{.loop = loop, .bus = *bus, .ids = ids, .http = http}, std::move(*options));
    EXPECT_TRUE(runtime::block_on(loop, module->start()));
    return *module;
  }
  ~ObservabilityTest() override {
    if (module) runtime::block_on(loop, module->stop());
    for (const auto& peer : peers) bus->disconnect(peer->worker);
    runtime::block_on(loop, bus->stop());
  }
  // Answers to earlier calls are passed over.
  Value ask(Peer& who, std::string_view id, Value data = Value::object()) {
    while (!who.answer().is_null()) continue;
    who.call(id, std::move(data));
    const Value answer = who.answer();
    EXPECT_EQ(answer.find("error"), nullptr) << json::write(answer);
    return answer.find("result") != nullptr ? *answer.find("result") : Value();
  }
  static size_t count(const Value& answer, std::string_view key) {
    return answer.find(key)->as_array()->size();
  }
  void log(Peer& who, std::string_view level, std::string_view message) {
    who.call(fmt::format("engine::log::{}", level), Value::object({{"message", message}}));
    (void)who.answer();
  }

  Webhooks http;
  std::unique_ptr<Observability> module;
};

TEST_F(ObservabilityTest, LogsAreListedFilteredAndCleared) {
  start();
  Peer& ann = join();
  log(ann, "info", "one");
  log(ann, "error", "two");
  EXPECT_EQ(count(ask(ann, "engine::logs::list"), "logs"), 2u);
  const Value errors = ask(ann, "engine::logs::list", Value::object({{"severity_min", 17}}));
  ASSERT_EQ(count(errors, "logs"), 1u);
  EXPECT_EQ(errors.find("logs")->as_array()->front().string_or("body"), "two");
  EXPECT_EQ(errors.find("logs")->as_array()->front().string_or("severity_text"), "ERROR");
  EXPECT_EQ(count(ask(ann, "engine::logs::list", Value::object({{"offset", 1}, {"limit", 5}})), "logs"), 1u);
  (void)ask(ann, "engine::logs::clear");
  EXPECT_EQ(count(ask(ann, "engine::logs::list"), "logs"), 0u);
}

TEST_F(ObservabilityTest, WhatIsOneUsersIsNotAnothers) {
  start();
  Peer& ann = join({"bus:*"}, "ann");
  Peer& bob = join({"bus:*"}, "bob");
  log(ann, "info", "of ann");
  EXPECT_EQ(count(ask(bob, "engine::logs::list"), "logs"), 0u);
  (void)ask(bob, "engine::logs::clear");
  EXPECT_EQ(count(ask(ann, "engine::logs::list"), "logs"), 1u);
  EXPECT_EQ(count(ask(join({"*"}, "root"), "engine::logs::list"), "logs"), 1u);
}

TEST_F(ObservabilityTest, SoManyLogsAreKept) {
  start(R"({"logs_max_count": 3})");
  Peer& ann = join();
  for (int i = 0; i < 5; ++i) log(ann, "info", fmt::format("{}", i));
  const Value answer = ask(ann, "engine::logs::list");
  ASSERT_EQ(count(answer, "logs"), 3u);
  EXPECT_EQ(answer.find("logs")->as_array()->front().string_or("body"), "2");
}

TEST_F(ObservabilityTest, LogsAreKeptForSoLong) {
  start(R"({"logs_retention_seconds": 10})");
  Peer& ann = join();
  log(ann, "info", "old");
  loop.advance(11s);
  EXPECT_EQ(count(ask(ann, "engine::logs::list"), "logs"), 0u);
}

TEST_F(ObservabilityTest, ALogIsSoLong) {
  start();
  Peer& ann = join();
  log(ann, "info", std::string(kMaxItemBytes, 'x'));
  EXPECT_EQ(count(ask(ann, "engine::logs::list"), "logs"), 0u);
}

TEST_F(ObservabilityTest, AnAnswerHasSoManyRows) {
  start(fmt::format(R"({{"logs_max_count": {}}})", 2 * kMaxListed));
  Peer& ann = join();
  for (size_t i = 0; i <= kMaxListed; ++i) log(ann, "info", "x");
  const Value answer = ask(ann, "engine::logs::list");
  EXPECT_EQ(count(answer, "logs"), kMaxListed);
  EXPECT_EQ(answer.int_or("total", 0), static_cast<std::int64_t>(kMaxListed + 1));
  EXPECT_EQ(count(ask(ann, "engine::logs::list", Value::object({{"offset", kMaxListed}})), "logs"), 1u);
}

TEST_F(ObservabilityTest, LogsHaveSoManyBytes) {
  start(R"({"logs_max_count": 1000000})");
  const Value log(std::string(kMaxItemBytes - 2, 'x'));
  for (size_t i = 0; i <= kMaxStoredBytes / kMaxItemBytes; ++i) EXPECT_TRUE(module->logs().add("t", log, 0));
  EXPECT_EQ(module->logs().bytes(), kMaxStoredBytes);
}

TEST_F(ObservabilityTest, SoManyCallsAreWatchedAtOnce) {
  start();
  const Observer::Call call{
      .function_id = "f", .tenant = "t", .kind = Observer::Kind::kWorker, .traceparent = ""};
  std::uint64_t last = 0;
  for (size_t i = 0; i < kMaxOpenSpans; ++i) last = module->began(call).id;
  EXPECT_EQ(module->began(call).id, 0u);
  module->ended(last, "", "");
  EXPECT_NE(module->began(call).id, 0u);
}

TEST_F(ObservabilityTest, TheLogTriggerTellsFromItsLevelOnAndNeverFasterThanTheDelay) {
  start();
  Peer& ann = join();
  ann.provide("on::log");
  ann.say(
      R"({"type": "registertrigger", "id": "t", "trigger_type": "log", "function_id": "on::log", "config": {"level": "warn"}})");
  log(ann, "info", "quiet");
  log(ann, "warn", "loud");
  EXPECT_TRUE(ann.next("invokefunction").is_null()) << "not before the delay";
  loop.advance(kTellDelay);
  const Value call = ann.next("invokefunction");
  EXPECT_EQ(call.find("data")->string_or("body"), "loud");
  EXPECT_TRUE(ann.next("invokefunction").is_null());
  ann.say(
      R"({"type": "registertrigger", "id": "u", "trigger_type": "log", "function_id": "on::log", "config": {"level": "loudest"}})");
  EXPECT_NE(ann.next("triggerregistrationresult").find("error"), nullptr);
}

TEST_F(ObservabilityTest, SoManyLogsAreToldAtOnce) {
  start();
  Peer& ann = join();
  ann.provide("on::log");
  ann.say(
      R"({"type": "registertrigger", "id": "t", "trigger_type": "log", "function_id": "on::log", "config": {}})");
  for (size_t i = 0; i < kMaxLogsToTell + 5; ++i) log(ann, "info", "x");
  loop.advance(kTellDelay);
  size_t told = 0;
  while (!ann.next("invokefunction").is_null()) ++told;
  EXPECT_EQ(told, kMaxLogsToTell);
}

TEST_F(ObservabilityTest, ACallIsASpanThatItsWorkersSpansBelongTo) {
  start();
  Peer& worker = join();
  worker.provide("f");
  Peer& caller = join();
  caller.say(R"({"type": "invokefunction", "invocation_id": "c", "function_id": "f", "data": {},
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})");
  const Value call = worker.next("invokefunction");
  const std::string told = call.string_or("traceparent");
  EXPECT_TRUE(told.starts_with("00-0af7651916cd43dd8448eb211c80319c-")) << told;
  EXPECT_FALSE(told.contains("b7ad6b7169203331"));
  loop.advance(5ms);
  worker.tell(Value::object({{"type", "invocationresult"},
                             {"invocation_id", call.string_or("invocation_id")},
                             {"function_id", "f"},
                             {"error", Value::object({{"code", "boom"}, {"message", "broken"}})}}));
  // The span of the worker's own SDK, below the engine's.
  module->measured(
      worker.worker->view.tenant,
      fmt::format(
          R"(OTLP{{"resourceSpans": [{{"resource": {{"attributes": [{{"key": "service.name", "value": {{"stringValue": "w"}}}}]}},
      "scopeSpans": [{{"spans": [{{"traceId": "0AF7651916CD43DD8448EB211C80319C", "spanId": "1111111111111111", "parentSpanId": "{}",
      "name": "execute f", "startTimeUnixNano": "1", "endTimeUnixNano": "2", "status": {{"code": 2}},
      "attributes": [{{"key": "n", "value": {{"intValue": "7"}}}}]}}]}}]}}]}})",
          told.substr(36, 16)));
  const Value tree =
      ask(caller, "engine::traces::tree", Value::object({{"trace_id", "0af7651916cd43dd8448eb211c80319c"}}));
  ASSERT_EQ(count(tree, "roots"), 1u) << json::write(tree);
  const Value& root = tree.find("roots")->as_array()->front();
  EXPECT_EQ(root.string_or("name"), "call f");
  EXPECT_EQ(root.string_or("status"), "error");
  EXPECT_EQ(root.string_or("parent_span_id"), "b7ad6b7169203331");
  EXPECT_EQ(root.int_or("end_time_unix_nano", 0) - root.int_or("start_time_unix_nano", 0), 5'000'000);
  ASSERT_EQ(count(root, "children"), 1u);
  EXPECT_EQ(root.find("children")->as_array()->front().string_or("service_name"), "w");
  const Value list =
      ask(caller, "engine::traces::list", Value::object({{"status", "error"}, {"min_duration_ms", 4}}));
  EXPECT_EQ(list.int_or("total", 0), 1);
  const Value by =
      ask(caller, "engine::traces::list",
          *json::parse(R"({"attributes": [["n", 7]], "sort_by": "duration", "sort_order": "desc"})"));
  EXPECT_EQ(by.int_or("total", 0), 1);
  (void)ask(caller, "engine::traces::clear");
  EXPECT_EQ(ask(caller, "engine::traces::list").int_or("total", 9), 0);
}

TEST_F(ObservabilityTest, AQueryAsksForSoMuch) {
  start();
  Peer& ann = join();
  ann.provide("f");
  ann.call("f");
  (void)ann.serve();
  Value many = Value::array();
  const auto pair = [] { return Value::array({"n", 1}); };
  for (size_t i = 0; i < kMaxWantedAttributes; ++i) many.push_back(pair());
  EXPECT_EQ(ask(ann, "engine::traces::list", Value::object({{"attributes", many}})).int_or("total", 9), 0);
  many.push_back(pair());
  const auto refused = [&ann](std::string_view id, Value query) {
    ann.call(id, std::move(query));
    const Value answer = ann.answer();
    const Value* error = answer.find("error");
    return error == nullptr ? std::string() : error->string_or("code");
  };
  EXPECT_EQ(refused("engine::traces::list", Value::object({{"attributes", many}})), "too_large");
  const std::string fits(kMaxWantedBytes, 'x');
  EXPECT_EQ(ask(ann, "engine::traces::list", Value::object({{"name", fits}})).int_or("total", 9), 0);
  const std::string long_text = fits + "x";
  EXPECT_EQ(refused("engine::traces::list", Value::object({{"name", long_text}})), "too_large");
  EXPECT_EQ(refused("engine::traces::tree", Value::object({{"trace_id", long_text}})), "too_large");
  EXPECT_EQ(refused("engine::traces::group_by", Value::object({{"attribute", long_text}})), "too_large");
  EXPECT_EQ(refused("engine::logs::list", Value::object({{"span_id", long_text}})), "too_large");
  EXPECT_EQ(refused("engine::metrics::list", Value::object({{"metric_name", long_text}})), "too_large");
}

TEST_F(ObservabilityTest, ACallerThatDoesNotSampleIsCountedOnly) {
  start();
  Peer& worker = join();
  worker.provide("f");
  worker.say(R"({"type": "invokefunction", "invocation_id": "c", "function_id": "f", "data": {},
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"})");
  (void)worker.serve();
  EXPECT_EQ(ask(worker, "engine::traces::list").int_or("total", 9), 0);
  const Value metrics = ask(worker, "engine::metrics::list");
  EXPECT_EQ(metrics.find("engine_metrics")->find("invocations")->int_or("success", 0), 1);
}

TEST_F(ObservabilityTest, TheFlagsOfACallerAreHex) {
  start();
  Peer& worker = join();
  worker.provide("f");
  const auto kept = [&](std::string_view flags) {
    worker.say(
        fmt::format(R"({{"type": "invokefunction", "invocation_id": "c", "function_id": "f", "data": {{}},
      "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-{}"}})",
                    flags));
    (void)worker.serve();
    const std::int64_t total =
        ask(worker, "engine::traces::list", Value::object({{"trace_id", "0af7651916cd43dd8448eb211c80319c"}}))
            .int_or("total", 9);
    (void)ask(worker, "engine::traces::clear");
    return total;
  };
  EXPECT_EQ(kept("0a"), 0);
  EXPECT_EQ(kept("0b"), 1);
  EXPECT_EQ(kept("01"), 1);
  EXPECT_EQ(kept("0z"), 0) << "no trace context: the trace is one of its own";
}

TEST_F(ObservabilityTest, ALogThatIsNotKeptIsNotSaidToBe) {
  start();
  Peer& ann = join();
  ann.call("engine::log::info",
           Value::object({{"message", "m"}, {"service_name", std::string(kMaxItemBytes, 's')}}));
  EXPECT_NE(ann.answer().find("error"), nullptr);
  EXPECT_EQ(count(ask(ann, "engine::logs::list"), "logs"), 0u);
}

TEST_F(ObservabilityTest, AShareOfTracesIsKept) {
  start(R"({"sampling_ratio": 0.25})");
  Peer& worker = join();
  worker.provide("f");
  for (int i = 0; i < 8; ++i) {
    worker.call("f");
    (void)worker.serve();
  }
  EXPECT_EQ(ask(worker, "engine::traces::list").int_or("total", 0), 2);
}

TEST_F(ObservabilityTest, AShareOfLogsIsKept) {
  start(R"({"logs_sampling_ratio": 0.5, "logs_console_output": false})");
  Peer& worker = join();
  for (int i = 0; i < 8; ++i) log(worker, "info", "hello");
  EXPECT_EQ(ask(worker, "engine::logs::list").int_or("total", 0), 4);
}

TEST_F(ObservabilityTest, SpansNameTheVersionOfTheService) {
  start(R"({"service_version": "1.2"})");
  Peer& worker = join();
  worker.provide("f");
  worker.call("f");
  (void)worker.serve();
  EXPECT_TRUE(json::write(ask(worker, "engine::traces::list")).contains(R"(["service.version","1.2"])"));
}

TEST_F(ObservabilityTest, SoManySpansAreKeptAndAFloodTakesTheFloodersOwn) {
  start(R"({"memory_max_spans": 4})");
  Peer& ann = join({"bus:*"}, "ann");
  Peer& bob = join({"bus:*"}, "bob");
  for (Peer* each : {&ann, &bob}) each->provide("f");
  ann.call("f");
  (void)ann.serve();
  for (int i = 0; i < 10; ++i) {
    bob.call("f");
    (void)bob.serve();
  }
  EXPECT_EQ(ask(ann, "engine::traces::list").int_or("total", 0), 1);
  EXPECT_EQ(ask(bob, "engine::traces::list").int_or("total", 0), 3);
}

TEST_F(ObservabilityTest, MetricsCountCallsAndWorkersAndShowWhatSdksMeasure) {
  start();
  Peer& worker = join();
  worker.call("engine::workers::register", Value::object({{"name", "w"}}));
  (void)worker.answer();
  worker.provide("f");
  worker.call("f");
  (void)worker.serve();
  module->measured(
      worker.worker->view.tenant,
      R"(MTRC{"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "iii.worker.memory.rss", "unit": "By",
    "gauge": {"dataPoints": [{"asInt": "4096", "timeUnixNano": "5", "attributes": [{"key": "worker.name", "value": {"stringValue": "w"}}]}]}},
    {"name": "h", "histogram": {"dataPoints": [{"count": "2", "sum": 3.5}]}}]}]}]})");
  const Value metrics = ask(worker, "engine::metrics::list");
  const Value& engine = *metrics.find("engine_metrics");
  EXPECT_EQ(engine.find("invocations")->int_or("total", 0), 1);
  EXPECT_EQ(engine.find("invocations")->find("by_function")->int_or("f", 0), 1);
  EXPECT_EQ(engine.find("workers")->int_or("spawns", 0), 1);
  EXPECT_EQ(engine.find("workers")->int_or("active", 0), 1);
  EXPECT_EQ(count(metrics, "sdk_metrics"), 2u);
  EXPECT_EQ(count(ask(worker, "engine::metrics::list", Value::object({{"metric_name", "h"}})), "sdk_metrics"),
            1u);
  const Value workers = ask(worker, "engine::workers::list");
  EXPECT_EQ(workers.find("workers")->as_array()->front().find("latest_metrics")->int_or("memory.rss", 0),
            4096);
}

TEST_F(ObservabilityTest, AWorkersLatestMetricsAreLimited) {
  start();
  Peer& worker = join();
  const auto measure = [&](size_t number, int value) {
    module->measured(
        worker.worker->view.tenant,
        fmt::format(
            R"(MTRC{{"resourceMetrics": [{{"scopeMetrics": [{{"metrics": [{{"name": "iii.worker.m{}", "gauge": {{"dataPoints":
            [{{"asInt": "{}", "attributes": [{{"key": "worker.id", "value": {{"stringValue": "{}"}}}}]}}]}}}}]}}]}}]}})",
            number, value, worker.worker->id));
  };
  for (size_t i = 0; i <= kMaxLatest; ++i) measure(i, 1);
  measure(0, 2);
  const Value latest = module->latest_metrics(*worker.worker);
  EXPECT_EQ(latest.as_object()->size(), kMaxLatest);
  EXPECT_EQ(latest.int_or("m0", 0), 2);
}

TEST_F(ObservabilityTest, FunctionsPastTheLimitCountAsOther) {
  Counts counts;
  for (size_t i = 0; i <= kMaxCountedFunctions + 1; ++i)
    counts.call("t\nann", fmt::format("f{}", i), Counts::Outcome::kSuccess, 1);
  const Counts::Tally tally = counts.seen_by({.tenant = "t\nann"});
  EXPECT_EQ(tally.by_function.size(), kMaxCountedFunctions + 1);
  EXPECT_EQ(tally.by_function.at("other"), 2u);
  EXPECT_EQ(tally.durations_ms.size(), kMaxDurations);
}

TEST_F(ObservabilityTest, TenantsPastTheLimitAreCountedTogetherForAdministrators) {
  Counts counts;
  for (size_t i = 0; i <= kMaxCountedTenants; ++i)
    counts.call(fmt::format("t\nu{}", i), "f", Counts::Outcome::kError, 1);
  EXPECT_EQ(counts.seen_by({.tenant = fmt::format("t\nu{}", kMaxCountedTenants)}).total, 0u);
  EXPECT_EQ(counts.seen_by({.tenant = "", .sees_all = true}).total, kMaxCountedTenants + 1);
}

TEST_F(ObservabilityTest, AlertsFireOncePerCooldownAndTellFunctionAndWebhook) {
  start(R"({"alerts": [
    {"name": "failing", "metric": "iii.invocations.error", "threshold": 1, "operator": ">", "cooldown_seconds": 30,
     "action": {"type": "webhook", "url": "http://127.0.0.1:9/hook"}},
    {"name": "crowd", "metric": "iii.workers.active", "threshold": 1, "operator": ">=", "action": {"type": "function", "path": "on::alert"}},
    {"name": "logged", "metric": "iii.workers.active", "threshold": 1, "operator": "==", "action": {"type": "log"}},
    {"name": "off", "metric": "iii.workers.active", "threshold": 0, "operator": ">", "enabled": false}]})");
  Peer& root = join({"*"}, "root");
  root.provide("on::alert");
  root.provide("f");
  for (int i = 0; i < 2; ++i) {
    root.call("f");
    const Value call = root.next("invokefunction");
    root.tell(Value::object({{"type", "invocationresult"},
                             {"invocation_id", call.string_or("invocation_id")},
                             {"function_id", "f"},
                             {"error", Value::object({{"code", "x"}, {"message", "y"}})}}));
  }
  while (!root.answer().is_null()) continue;
  loop.advance(kAlertPeriod);
  ASSERT_EQ(http.told.size(), 1u);
  EXPECT_EQ(http.told[0].url, "http://127.0.0.1:9/hook");
  EXPECT_EQ(http.told[0].deadline, loop.clock().steady() + kWebhookTime);
  EXPECT_EQ(http.told[0].max_body, kMaxWebhookAnswer);
  EXPECT_TRUE(http.told[0].body.contains("\"failing\"")) << http.told[0].body;
  const Value call = root.next("invokefunction");
  EXPECT_EQ(call.string_or("function_id"), "on::alert");
  EXPECT_EQ(call.find("data")->string_or("name"), "crowd");
  root.tell(Value::object({{"type", "invocationresult"},
                           {"invocation_id", call.string_or("invocation_id")},
                           {"function_id", "on::alert"},
                           {"result", true}}));
  loop.advance(kAlertPeriod);
  EXPECT_EQ(http.told.size(), 1u) << "it is quiet for its cooldown";
  const Value list = ask(root, "engine::alerts::list");
  EXPECT_EQ(count(list, "alerts"), 4u);
  EXPECT_EQ(list.find("alerts")->as_array()->front().double_or("current_value", 0), 2);
  loop.advance(2min);
  EXPECT_FALSE(ask(root, "engine::alerts::list").find("alerts")->as_array()->front().bool_or("firing", true))
      << "the window has gone by";
  EXPECT_EQ(ask(root, "engine::alerts::evaluate").int_or("evaluated", 0), 4);
  Peer& ann = join({"bus:*"}, "ann");
  ann.call("engine::alerts::list");
  EXPECT_EQ(ann.answer().find("error")->string_or("code"), "permission_denied");
}

TEST_F(ObservabilityTest, BaggageIsReadAndGivenBackWithMore) {
  start();
  Peer& ann = join();
  const auto with = [&](std::string_view id, std::string_view data) {
    ann.say(fmt::format(
        R"({{"type": "invokefunction", "invocation_id": "c", "function_id": "engine::baggage::{}", "data": {},
      "baggage": "a=1,b=two%20words"}})",
        id, data));
    return *ann.answer().find("result");
  };
  EXPECT_EQ(with("get", R"({"key": "b"})").string_or("value"), "two words");
  EXPECT_EQ(with("get_all", "{}").find("baggage")->string_or("a"), "1");
  EXPECT_EQ(with("set", R"({"key": "c", "value": "x y"})").string_or("baggage"), "a=1,b=two%20words,c=x%20y");
}

// The answer of a call that is made and answered.
void call_once(auto& test_peer, std::string_view id) {
  test_peer.call(id);
  test_peer.serve();
}

TEST_F(ObservabilityTest, RulesSayWhichTracesAreKept) {
  start(R"({"service_version": "7", "sampling": {"default": 1, "parent_based": false,
    "rules": [{"operation": "noisy::*", "rate": 0}, {"service": "other", "rate": 0}], "rate_limit": {"max_traces_per_second": 2}}})");
  Peer& ann = join();
  ann.provide("noisy::f");
  ann.provide("f");
  call_once(ann, "noisy::f");
  for (int i = 0; i < 5; ++i) call_once(ann, "f");
  const Value list = ask(ann, "engine::traces::list");
  EXPECT_EQ(list.int_or("total", 0), 2);  // as many as a second allows
  EXPECT_NE(json::write(list).find(R"(["service.version","7"])"), std::string::npos);
  const Value rules = ask(ann, "engine::sampling::rules");
  EXPECT_EQ(count(rules, "rules"), 2u);
  EXPECT_EQ(rules.find("rate_limit")->int_or("max_traces_per_second", 0), 2);
  EXPECT_EQ(rules.find("parent_based")->as_bool(), false);
}

TEST_F(ObservabilityTest, MeasuresAreRolledUpAndAggregated) {
  start();
  Peer& ann = join();
  ann.provide("f");
  call_once(ann, "f");
  loop.advance(2min);
  call_once(ann, "f");
  call_once(ann, "f");
  const Value wanted = Value::object({{"metric_name", "iii.invocation.duration"}});
  const Value minutes = ask(ann, "engine::rollups::list", wanted);
  ASSERT_EQ(count(minutes, "rollups"), 2u) << json::write(minutes);
  EXPECT_EQ((*minutes.find("rollups")->as_array())[1].int_or("count", 0), 2);
  EXPECT_EQ(count(ask(ann, "engine::rollups::list", Value::object({{"level", 2}})), "rollups"), 1u);
  ann.call("engine::rollups::list", Value::object({{"level", 3}}));
  EXPECT_NE(ann.answer().find("error"), nullptr);
  for (const int at : {1000, 1500, 61'000})
    module->measured(ann.worker->view.tenant,
                     fmt::format(R"(MTRC{{"resourceMetrics": [{{"scopeMetrics": [{{"metrics": [{{"name": "m",
      "gauge": {{"dataPoints": [{{"asDouble": 2.5, "timeUnixNano": "{}000000"}}]}}}}]}}]}}]}})",
                                 at));
  const Value metrics = ask(ann, "engine::metrics::list", Value::object({{"aggregate_interval", 60}}));
  ASSERT_EQ(count(metrics, "aggregated_metrics"), 2u) << json::write(metrics);
  const Value& first = metrics.find("aggregated_metrics")->as_array()->front();
  EXPECT_EQ(first.int_or("count", 0), 2);
  EXPECT_EQ(first.double_or("avg", 0), 2.5);
}

TEST_F(ObservabilityTest, AnAnswerHasOnlySoManyIntervals) {
  start(R"({"metrics_max_count": 100000})");
  Peer& ann = join({"*"}, "ann");
  for (size_t i = 0; i <= kMaxAggregates; ++i)
    module->measured(ann.worker->view.tenant,
                     fmt::format(R"(MTRC{{"resourceMetrics": [{{"scopeMetrics": [{{"metrics": [{{"name": "m",
      "gauge": {{"dataPoints": [{{"asDouble": 1, "timeUnixNano": "{}000000000"}}]}}}}]}}]}}]}})",
                                 i));
  ann.call("engine::metrics::list", Value::object({{"aggregate_interval", 1}}));
  EXPECT_NE(ann.answer().find("error"), nullptr);
}

TEST_F(ObservabilityTest, TheTraceTriggerTellsOfEndedSpansButNotOfItsOwn) {
  start();
  Peer& ann = join();
  ann.provide("f");
  ann.provide("on::trace");
  ann.say(
      R"({"type": "registertrigger", "id": "t", "trigger_type": "trace", "function_id": "on::trace", "config": {"status": "ok"}})");
  call_once(ann, "f");
  EXPECT_TRUE(ann.next("invokefunction").is_null()) << "not before the delay";
  loop.advance(kTellDelay);
  const Value call = ann.next("invokefunction");
  ASSERT_EQ(call.find("data")->find("trace_ids")->as_array()->size(), 1u);
  ann.tell(Value::object({{"type", "invocationresult"},
                          {"invocation_id", call.string_or("invocation_id")},
                          {"function_id", "on::trace"},
                          {"result", 1}}));
  loop.advance(kTellDelay);
  EXPECT_TRUE(ann.next("invokefunction").is_null());
  ann.say(
      R"({"type": "registertrigger", "id": "u", "trigger_type": "trace", "function_id": "on::trace", "config": {"status": 1}})");
  EXPECT_NE(ann.next("triggerregistrationresult").find("error"), nullptr);
}

TEST_F(ObservabilityTest, SoManyTracesAreToldAtOnce) {
  start();
  Peer& ann = join();
  ann.provide("f");
  ann.provide("on::trace");
  ann.say(
      R"({"type": "registertrigger", "id": "t", "trigger_type": "trace", "function_id": "on::trace", "config": {}})");
  for (size_t i = 0; i < kMaxTracesToTell + 5; ++i) call_once(ann, "f");
  loop.advance(kTellDelay);
  EXPECT_EQ(ann.next("invokefunction").find("data")->find("trace_ids")->as_array()->size(), kMaxTracesToTell);
}

TEST_F(ObservabilityTest, CallsUnderWayAreListedAsPending) {
  start();
  Peer& ann = join();
  ann.provide("slow");
  ann.call("slow", Value::object(), "s1");
  const Value call = ann.next("invokefunction");
  const Value open = ask(ann, "engine::traces::list");
  ASSERT_EQ(count(open, "spans"), 1u);
  const Value span = open.find("spans")->as_array()->front();
  EXPECT_EQ(span.string_or("status"), "pending");
  EXPECT_EQ(span.int_or("end_time_unix_nano", -1), 0);
  const Value trace = Value::object({{"trace_id", span.string_or("trace_id")}});
  EXPECT_EQ(count(ask(ann, "engine::traces::tree", trace), "roots"), 1u);
  Peer& bob = join({"bus:*"}, "bob");
  EXPECT_EQ(count(ask(bob, "engine::traces::list"), "spans"), 0u);
  ann.tell(Value::object({{"type", "invocationresult"},
                          {"invocation_id", call.string_or("invocation_id")},
                          {"function_id", "slow"},
                          {"result", 1}}));
  const Value done = ask(ann, "engine::traces::list");
  ASSERT_EQ(count(done, "spans"), 1u);
  EXPECT_EQ(done.find("spans")->as_array()->front().string_or("span_id"), span.string_or("span_id"));
  EXPECT_EQ(done.find("spans")->as_array()->front().string_or("status"), "ok");
}

TEST_F(ObservabilityTest, WithoutLiveSpansOnlyWhatHasEndedIsListed) {
  start(R"({"live_spans": false})");
  Peer& ann = join();
  ann.provide("slow");
  ann.call("slow");
  EXPECT_EQ(count(ask(ann, "engine::traces::list"), "spans"), 0u);
}

TEST_F(ObservabilityTest, TracesAreGroupedByAnAttribute) {
  Observability& observed = start();
  Peer& ann = join({"bus:*"}, "ann");
  const auto span = [](std::string_view trace, std::string_view id, std::string_view session, int start_ms,
                       int end_ms, std::string_view name) {
    return fmt::format(
        R"({{"traceId":"{}","spanId":"{}","name":"n","startTimeUnixNano":"{}000000","endTimeUnixNano":"{}000000",)"
        R"("status":{{"code":{}}},"attributes":[{{"key":"iii.session.id","value":{{"stringValue":"{}"}}}},)"
        R"({{"key":"iii.session.name","value":{{"stringValue":"{}"}}}}]}})",
        trace, id, start_ms, end_ms, end_ms % 2 == 1 ? 2 : 1, session, name);
  };
  const std::string spans =
      span("t1", "a", "s1", 1000, 2000, "old") + "," + span("t2", "b", "s1", 1500, 3001, "new") + "," +
      span("t3", "c", "s2", 2500, 2600, "other") + "," + span("t4", "d", "s2", 2550, 0, "begun");
  observed.measured(ann.worker->view.tenant,
                    R"(OTLP{"resourceSpans":[{"scopeSpans":[{"spans":[)" + spans + R"(]}]}]})");
  EXPECT_EQ(count(ask(ann, "engine::traces::list"), "spans"), 3u);  // one has only begun
  const auto groups = [&](Value query) {
    query.set("attribute", "iii.session.id");
    return *ask(ann, "engine::traces::group_by", std::move(query)).find("groups")->as_array();
  };
  const auto all = groups(Value::object({{"label_attribute", "iii.session.name"}}));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].string_or("value"), "s2");  // it began last
  EXPECT_EQ(json::write(*all[1].find("trace_ids")), R"(["t1","t2"])");
  EXPECT_EQ(all[1].string_or("label"), "new");
  EXPECT_EQ(all[1].int_or("span_count", 0), 2);
  EXPECT_EQ(all[1].int_or("first_seen_ms", 0), 1000);
  EXPECT_EQ(all[1].int_or("last_seen_ms", 0), 3001);
  EXPECT_EQ(all[1].int_or("duration_ms", 0), 2001);
  EXPECT_EQ(all[1].int_or("error_count", 0), 1);
  EXPECT_EQ(groups(Value::object({{"limit", 1}})).size(), 1u);
  EXPECT_EQ(groups(Value::object({{"since_ms", 2700}})).size(), 1u);
  Peer& bob = join({"bus:*"}, "bob");
  EXPECT_EQ(
      count(ask(bob, "engine::traces::group_by", Value::object({{"attribute", "iii.session.id"}})), "groups"),
      0u);
  bob.call("engine::traces::group_by");
  EXPECT_NE(bob.answer().find("error"), nullptr);
}

}  // namespace
}  // namespace chela::bus::observability
