// LINK bus testing
// Any bytes are frames of a worker: one a line. The scanner agrees with the JSON parser on what is an object, what the bus sends is JSON
// and within its limits, and whatever came, everything is back to nothing when the workers have gone.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "base/strings.h"
#include "bus/bus.h"
#include "testing/manual_loop.h"

namespace bus = chela::bus;
namespace json = chela::json;

namespace {

class CheckingLink final : public bus::Link {
 public:
  chela::Result<> send(std::string_view frame) override {
    const chela::Result<json::Value> value = json::parse(frame);
    CHELA_CHECK(value && value->is_object() && !value->string_or("type").empty(), "the bus sent no frame");
    return {};
  }
  size_t unsent() const override { return 0; }
  chela::Task<chela::Result<>> drained(size_t, std::stop_token) override { co_return chela::Result<>{}; }
  void close(std::uint16_t, std::string_view) override {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  chela::testing::ManualLoop loop;
  chela::testing::CountingIds ids;
  chela::obs::Metrics metrics;
  CheckingLink links[2];
  {
    bus::Bus router({.loop = loop, .ids = ids, .metrics = metrics},
                    {.call_timeout = std::chrono::seconds(10)});
    const bus::WorkerPtr workers[2] = {
        router.connect(links[0], {.principal = {.realm = "r", .user = "u", .permissions = {"*"}}}, "a"),
        router.connect(links[1], {.principal = {.realm = "r", .user = "v", .permissions = {"bus:*"}}}, "b")};
    size_t turn = 0;
    for (const std::string_view line : chela::strings::split(text, '\n')) {
      bus::Scanner scanner;
      const chela::Result<json::Value> parsed = json::parse(line);
      const chela::Result<std::span<const bus::RawMember>> scanned = scanner.scan(line);
      const bool object = parsed && parsed->is_object();
      // Half a surrogate pair is JSON to one and none to the other; a frame has limits that a value has not.
      const bool half_pair = line.find("\\u") != line.npos;
      const bool limited = !scanned && scanned.error().message.find("too ") != std::string::npos;
      CHELA_CHECK(scanned.has_value() == object || half_pair || limited,
                  "the scanner and the parser disagree");
      router.receive(workers[turn++ % 2], line);
      loop.run_ready();
    }
    loop.advance(std::chrono::seconds(30));
    for (const bus::WorkerPtr& worker : workers) {
      router.disconnect(worker);
      CHELA_CHECK(worker->functions.empty() && worker->triggers.empty() && worker->trigger_types.empty(),
                  "leftovers");
      CHELA_CHECK(worker->registration_bytes == 0 && worker->calls_served == 0, "leftover counts");
    }
    loop.run_ready();
    CHELA_CHECK(router.open_calls() == 0 && router.workers().empty() && router.triggers().size() == 0,
                "leftovers");
    chela::runtime::block_on(loop, router.stop());
  }
  return 0;
}
