#include "net/sse.h"

#include "base/strings.h"

namespace chela::net {

Result<std::vector<SseEvent>> SseParser::feed(std::string_view bytes) {
  std::vector<SseEvent> out;
  if (too_large_)
    return fail(Code::kTooLarge, "an event of the stream is larger than {} bytes", max_event_bytes_);
  while (!bytes.empty()) {
    if (std::exchange(after_cr_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const size_t end = bytes.find_first_of("\r\n");
    const std::string_view part = bytes.substr(0, end);
    if (line_.size() + part.size() + data_.size() > max_event_bytes_) {
      too_large_ = true;
      if (out.empty())
        return fail(Code::kTooLarge, "an event of the stream is larger than {} bytes", max_event_bytes_);
      return out;
    }
    line_ += part;
    if (end == std::string_view::npos) break;
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    end_line(out);
  }
  return out;
}

void SseParser::end_line(std::vector<SseEvent>& out) {
  std::string_view line = line_;
  if (std::exchange(first_line_, false) && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  if (line.empty()) {
    dispatch(out);
  } else if (const size_t colon = line.find(':'); colon == std::string_view::npos) {
    field(line, {});
  } else {
    std::string_view value = line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    field(line.substr(0, colon), value);  // a comment is a field without a name
  }
  line_.clear();
}

void SseParser::field(std::string_view name, std::string_view value) {
  if (name == "data") {
    if (std::exchange(has_data_, true)) data_.push_back('\n');
    data_ += value;
  } else if (name == "event") {
    event_ = value;
  } else if (name == "id") {
    if (!value.contains('\0')) id_ = value;
  } else if (name == "retry") {
    if (value.find_first_not_of("0123456789") == std::string_view::npos)
      retry_ = strings::parse_int<int>(value);
  }
}

// A block without data is no event, but its id stays.
void SseParser::dispatch(std::vector<SseEvent>& out) {
  if (has_data_)
    out.push_back(SseEvent{.event = event_, .data = std::move(data_), .id = id_, .retry = retry_});
  event_.clear();
  data_.clear();
  retry_.reset();
  has_data_ = false;
}

namespace {

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  for (const char c : value) {
    if (c != '\r' && c != '\n' && c != '\0') out.push_back(c);
  }
  out.push_back('\n');
}

}  // namespace

std::string format_sse(std::string_view event, std::string_view id, std::string_view data) {
  std::string out;
  out.reserve(data.size() + event.size() + id.size() + 32);
  if (!event.empty()) append_field(out, "event", event);
  if (!id.empty()) append_field(out, "id", id);
  while (true) {
    const size_t end = data.find_first_of("\r\n");
    out += "data: ";
    out += data.substr(0, end);
    out.push_back('\n');
    if (end == std::string_view::npos) break;
    data.remove_prefix(data.substr(end).starts_with("\r\n") ? end + 2 : end + 1);
  }
  out.push_back('\n');
  return out;
}

}  // namespace chela::net
