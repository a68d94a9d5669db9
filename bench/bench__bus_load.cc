// A closed-loop load of invocations over the bus, by its raw protocol: one connection provides a function, one calls it with C calls
// under way, each answered call begins the next. Prints one JSON object.
// Usage: bench__bus_load --port N --token T --concurrency C --bytes B --seconds S [--function ID --data JSON]
// With --function a function of the engine is called instead, with that data: in it $ stands for a number of the call, below C, and @ for
// records of B bytes.
// Only to 127.0.0.1. An answer that is an error ends the run.

#include <optional>

#include "bench/closed_loop.h"
#include "bench/echo_worker.h"

namespace chela::bench {
namespace {

// What stands in a frame before and behind the number of its call.
struct Call {
  std::string function = "bench::echo";
  std::string before;
  std::string after;
};

Call call_of(const Options& options, const std::string& data) {
  if (!options.has("--function")) return {.before = data};
  std::string text = options.text("--data");
  if (const size_t at = text.find('@'); at != std::string::npos) text.replace(at, 1, data);
  const size_t number = text.find('$');
  if (number == std::string::npos) die("--data has no $");
  return {.function = options.text("--function"),
          .before = text.substr(0, number),
          .after = text.substr(number + 1)};
}

json::Value run(const Options& options) {
  const int port = static_cast<int>(options.number("--port"));
  const size_t concurrency = options.number("--concurrency");
  if (port == 0 || concurrency == 0 || options.seconds() <= 0)
    die("see the first lines of its source for the arguments");
  const std::string data = records(options.number("--bytes"));
  const Call call = call_of(options, data);
  std::optional<EchoWorker> worker;
  if (!options.has("--function")) worker.emplace(port, options.text("--token"), data);

  Peer caller(port, options.text("--token"));
  ClosedLoop loop(concurrency, options.seconds());
  const auto send = [&](size_t slot) {
    loop.begin(slot);
    const std::string number = std::to_string(slot);
    caller.queue(R"({"type":"invokefunction","invocation_id":")" + number + R"(","function_id":")" +
                 call.function + R"(","data":)" + call.before +
                 (call.after.empty() ? "" : number + call.after) + "}");
  };
  for (size_t slot = 0; slot < concurrency; ++slot) send(slot);
  while (loop.goes_on()) {
    caller.flush();
    caller.fill();
    for (std::string_view frame = caller.next(); !frame.empty(); frame = caller.next()) {
      if (!frame.starts_with(R"({"type":"invocationresult")")) continue;
      if (frame.find(R"("error":)") != std::string_view::npos) die(std::string(frame).c_str());
      const size_t slot = std::strtoul(id_of(frame).data(), nullptr, 10);
      if (loop.finish(slot)) send(slot);
    }
  }
  json::Value result = loop.result();
  result.set("bytes", data.size());
  return result;
}

}  // namespace
}  // namespace chela::bench

int main(int argc, char** argv) {
  using namespace chela::bench;
  return print_result([options = Options(argc, argv)] { return run(options); });
}
