#include "api/schema_text.h"

#include "base/check.h"

namespace chela::api {

json::Value schema(std::string_view text) {
  Result<json::Value> parsed = json::parse(text);
  CHELA_CHECK(parsed, text);
  return std::move(*parsed);
}

json::Value no_input() { return schema(R"({"type": "object", "properties": {}})"); }

}  // namespace chela::api
