#include "tools/result_text.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "base/utf8.h"

namespace chela::tools {
namespace {

constexpr std::string_view kTag = "tool_output";
constexpr std::size_t kNoteBytes = 160;  // room for the note about what was cut

std::string part_text(const Part& part) {
  if (const auto* text = std::get_if<TextPart>(&part)) return utf8::sanitize(text->text);
  if (const auto* value = std::get_if<JsonPart>(&part)) return json::write_pretty(value->value);
  if (const auto* image = std::get_if<ImagePart>(&part))
    return utf8::sanitize(fmt::format("[image {}, {} bytes]", image->media_type, image->bytes.size()));
  const auto& file = std::get<FilePart>(part);
  return utf8::sanitize(fmt::format("[file {} ({})]", file.path, file.media_type));
}

// True when the text after a "<" begins our tag, opening or closing, in any case and with white space between.
bool begins_tag(std::string_view text) {
  text = strings::trim(text.substr(0, text.find('<')));
  if (text.starts_with('/')) text = strings::trim(text.substr(1));
  return strings::iequals(text.substr(0, kTag.size()), kTag);
}

std::string disarm_tags(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<' && begins_tag(text.substr(i + 1)))
      out += "&lt;";
    else
      out += text[i];
  }
  return out;
}

// At most max_bytes, the note included.
std::string cut(std::string text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  const std::string_view kept = utf8::prefix(text, max_bytes > kNoteBytes ? max_bytes - kNoteBytes : 0);
  const std::string note = fmt::format(
      "\n[cut: {} of {} bytes shown; ask for a smaller part to see the rest]", kept.size(), text.size());
  return std::string(utf8::prefix(std::string(kept) + note, max_bytes));
}

}  // namespace

std::string preview_of(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t chars = 0; end < text.size() && chars < kMaxPreviewChars; ++chars) {
    ++end;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
  }
  return std::string(text.substr(0, end));
}

ResultText result_text(std::string_view tool, const ToolResult& result, std::size_t max_bytes) {
  std::string text = result.is_error ? "Error: " : "";
  for (std::size_t i = 0; i < result.parts.size(); ++i) {
    if (i > 0) text += '\n';
    text += part_text(result.parts[i]);
  }
  ResultText out{.text = {}, .preview = preview_of(text)};
  if (result.taint == Taint::kTrusted) {
    out.text = cut(std::move(text), max_bytes);
    return out;
  }
  // A sanitizer of the safety layer that has changed the text says sanitized="true" here.
  const std::string open = fmt::format("<{} name=\"{}\" sanitized=\"false\">\n", kTag, tool);
  const std::string close = fmt::format("\n</{}>", kTag);
  const std::size_t frame = open.size() + close.size();
  out.text = open + cut(disarm_tags(text), max_bytes > frame ? max_bytes - frame : 0) + close;
  return out;
}

}  // namespace chela::tools
