// LINK api
// The body of a /v1 client: whatever it is, it is read or refused with the field's name, and what was read can be written again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/openai_request.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace chela;
  const Result<json::Value> body = json::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!body || !body->is_object()) return 0;
  const Result<api::ChatRequest> request = api::parse_chat_request(*body);
  if (!request) {
    CHELA_CHECK(request.error().code == Code::kInvalidArgument && !request.error().detail("param").empty(),
                "a refusal names its field");
    return 0;
  }
  CHELA_CHECK(!request->request.messages.empty(), "a request has messages");
  CHELA_CHECK(json::parse(json::write(llm::to_json(request->request))).has_value(),
              "a request can be written");
  return 0;
}
