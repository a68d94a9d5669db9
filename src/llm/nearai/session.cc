#include "llm/nearai/session.h"

#include "base/json.h"
#include "base/strings.h"
#include "os/file.h"

namespace chela::llm::nearai {

std::string session_token(const Variables& variables) {
  if (std::string token = variables("NEARAI_SESSION_TOKEN"); !token.empty()) return token;
  std::string path = variables("NEARAI_SESSION_PATH");
  if (path.empty()) path = variables("HOME") + "/.ironclaw/session.json";
  const Result<std::string> text = os::read_file(path, kMaxSessionBytes);
  const Result<json::Value> file = text ? json::parse(*text) : fail(text.error());
  return file ? std::string(strings::trim(file->string_or("session_token"))) : std::string();
}

}  // namespace chela::llm::nearai
