// LINK api
// The body of a /v1 client, read as each of its APIs: whatever it is, it is read or refused with the field's name, and what was read can
// be written again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/anthropic_request.h"
#include "api/openai_request.h"
#include "api/responses_request.h"
#include "base/check.h"

namespace {

using namespace chela;

void check(const Result<api::ChatRequest>& request) {
  if (!request) {
    CHELA_CHECK(request.error().code == Code::kInvalidArgument && !request.error().detail("param").empty(),
                "a refusal names its field");
    return;
  }
  CHELA_CHECK(!request->request.messages.empty(), "a request has messages");
  CHELA_CHECK(json::parse(json::write(llm::to_json(request->request))).has_value(),
              "a request can be written");
}

Result<api::ChatRequest> responses_request(const json::Value& body) {
  Result<api::ResponsesRequest> request = api::parse_responses_request(body);
  if (!request) return fail(request.error());
  return std::move(request->chat);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Result<json::Value> body = json::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!body || !body->is_object()) return 0;
  check(api::parse_chat_request(*body));
  check(api::parse_anthropic_request(*body));
  check(responses_request(*body));
  return 0;
}
