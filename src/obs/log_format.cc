#include "obs/log_format.h"

#include "base/json.h"
#include "base/utf8.h"

namespace chela::log {
namespace {

bool is_member(std::string_view key) { return key == "thread" || key == "turn" || key == "trace"; }

json::Value value_of(const Field& field, const Redaction& redaction) {
  return std::visit(
      [&](const auto& value) -> json::Value {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string_view>) {
          return json::Value(redaction.apply(value));
        } else {
          return json::Value(value);
        }
      },
      field.value);
}

// Control characters could forge lines or move a terminal's cursor.
std::string printable(std::string_view text) {
  std::string out;
  for (const char c : utf8::sanitize(text)) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f)
      out += c;
    else
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace

std::string json_line(const Line& line, const Redaction& redaction) {
  json::Value out = json::Value::object({{"ts", format_rfc3339(line.time)},
                                         {"level", level_name(line.level)},
                                         {"target", line.target},
                                         {"msg", redaction.apply(line.message)}});
  json::Value fields = json::Value::object();
  for (const Field& field : line.fields)
    (is_member(field.key) ? out : fields).set(std::string(field.key), value_of(field, redaction));
  if (!fields.as_object()->empty()) out.set("fields", std::move(fields));
  return json::write(out);
}

std::string message_text(const Line& line, const Redaction& redaction) {
  std::string out = printable(redaction.apply(line.message));
  for (const Field& field : line.fields) {
    const json::Value value = value_of(field, redaction);
    const std::string* text = value.as_string();
    const bool plain = text && text->find_first_of(" \"=") == std::string::npos && !text->empty();
    out += fmt::format(" {}={}", field.key, plain ? printable(*text) : printable(json::write(value)));
  }
  return out;
}

std::string people_line(const Line& line, const Redaction& redaction) {
  const CivilTime at = to_civil(line.time);
  return fmt::format("{:02}:{:02}:{:02}.{:03} {:<5} {}: {}", at.hour, at.minute, at.second, at.millisecond,
                     level_name(line.level), line.target, message_text(line, redaction));
}

}  // namespace chela::log
