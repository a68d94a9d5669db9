#include "llm/wire/provider_error.h"

#include <algorithm>
#include <array>

#include "base/limits.h"
#include "base/strings.h"
#include "base/utf8.h"

namespace chela::llm::wire {
namespace {

using std::chrono::milliseconds;

// What the provider itself says about the failure.
struct Said {
  std::string message;
  std::string type;
  std::string code;
  int status = 0;  // of an error object that holds one
  std::optional<milliseconds> wait = std::nullopt;
};

std::optional<milliseconds> parse_seconds(std::string_view text);

// Google's details: why a key is refused, how long to wait.
void read_details(const json::Value& error, Said& said) {
  const json::Value* details = error.find("details");
  if (details == nullptr || !details->is_array()) return;
  for (const json::Value& detail : *details->as_array()) {
    if (detail.string_or("reason") == "API_KEY_INVALID") said.status = 401;
    const std::string delay = detail.string_or("retryDelay");
    if (delay.ends_with('s')) said.wait = parse_seconds(std::string_view(delay).substr(0, delay.size() - 1));
  }
}

Said read_error_value(const json::Value& error) {
  if (const std::string* text = error.as_string()) return Said{.message = *text};
  Said said{.message = error.string_or("message"),
            .type = error.string_or("type"),
            .code = error.string_or("code")};
  if (said.message.empty()) said.message = error.string_or("detail");
  if (said.message.empty()) said.message = error.string_or("Message");  // AWS, at times
  const std::int64_t number = error.int_or("code", error.int_or("status", 0));
  if (number >= 400 && number <= 599) said.status = static_cast<int>(number);
  read_details(error, said);
  return said;
}

Said read_body(std::string_view body) {
  const Result<json::Value> parsed = json::parse(utf8::sanitize(body));
  if (!parsed && strings::trim(body).starts_with('<')) return Said{};  // a proxy's page tells people nothing
  if (!parsed) return Said{.message = std::string(body)};
  // Some servers wrap the object in an array.
  const json::Array* list = parsed->as_array();
  const json::Value& root = list != nullptr && !list->empty() ? list->front() : *parsed;
  const json::Value* error = root.find("error");
  return read_error_value(error != nullptr && !error->is_null() ? *error : root);
}

bool about_context_length(const Said& said) {
  if (said.code == "context_length_exceeded" || said.type == "exceed_context_size_error") return true;
  const std::string text = strings::lower(said.message);
  static constexpr std::array<std::string_view, 9> kSigns{
      "context length",     "context window",    "context size",
      "prompt is too long", "prompt too long",   "too many tokens",
      "input is too long",  "reduce the length", "maximum number of tokens"};
  return std::ranges::any_of(kSigns, [&text](std::string_view sign) { return text.contains(sign); });
}

bool about_quota(const Said& said) {
  return said.code == "insufficient_quota" || said.type == "insufficient_quota";
}

Code code_of_status(int status) {
  switch (status) {
    case 401:
      return Code::kUnauthenticated;
    case 402:
    case 403:
      return Code::kPermissionDenied;
    case 404:
      return Code::kNotFound;
    case 408:
      return Code::kTimeout;
    case 413:
      return Code::kTooLarge;
    case 424:  // AWS: the model failed, not the request
      return Code::kUpstream;
    case 429:
      return Code::kRateLimited;
    default:
      return status >= 400 && status < 500 ? Code::kInvalidArgument : Code::kUpstream;
  }
}

// Error objects inside a stream have no status, only words.
Code code_of_words(const Said& said) {
  const std::string words = strings::lower(said.type + " " + said.code);
  static constexpr std::array<std::pair<std::string_view, Code>, 13> kWords{{
      {"rate_limit", Code::kRateLimited},
      {"throttling", Code::kRateLimited},
      {"resource_exhausted", Code::kRateLimited},
      {"validationexception", Code::kInvalidArgument},
      {"accessdenied", Code::kPermissionDenied},
      {"insufficient_quota", Code::kRateLimited},
      {"context_length", Code::kInvalidArgument},
      {"context_size", Code::kInvalidArgument},
      {"invalid_api_key", Code::kUnauthenticated},
      {"authentication", Code::kUnauthenticated},
      {"permission", Code::kPermissionDenied},
      {"not_found", Code::kNotFound},
      {"invalid_request", Code::kInvalidArgument},
  }};
  for (const auto& [word, code] : kWords) {
    if (words.contains(word)) return code;
  }
  return Code::kUpstream;
}

std::string_view next_step(Code code) {
  switch (code) {
    case Code::kUnauthenticated:
      return "; check llm.api_key";
    case Code::kPermissionDenied:
      return "; check the account of llm.api_key";
    case Code::kNotFound:
      return "; check llm.model and llm.base_url";
    default:
      return "";
  }
}

// What the provider said, fit for an error: masked before it is cut, so that no part of a secret is left at the cut.
std::string one_line(const ErrorContext& context, std::string text) {
  for (const std::string& secret : context.secrets)
    text = strings::replace_all(std::move(text), secret, "[redacted]");
  text = utf8::sanitize(text);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return std::string(strings::trim(utf8::prefix(strings::trim(text), kMaxProviderMessageBytes)));
}

Error make_error(const ErrorContext& context, Code code, const Said& said, std::string_view what) {
  const std::string message = one_line(context, said.message);
  Error error{.code = code,
              .message = fmt::format("{} {}{}{}{}", context.server, what, message.empty() ? "" : ": ",
                                     message, next_step(code))};
  if (code == Code::kInvalidArgument || code == Code::kTooLarge) {
    if (about_context_length(said)) error.with("reason", "context_length");
  } else if (code == Code::kNotFound) {
    error.with("reason", "model_not_found");
  }
  if (about_quota(said)) error.with("reason", "insufficient_quota").with("retry", "no");
  return error;
}

// RFC 9110's preferred form, "Sun, 06 Nov 1994 08:49:37 GMT".
std::optional<UnixMs> parse_http_date(std::string_view text) {
  static constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != 29 || text.substr(3, 2) != ", " || text.substr(25) != " GMT") return std::nullopt;
  const auto day = strings::parse_int<int>(text.substr(5, 2));
  const auto month = std::ranges::find(kMonths, text.substr(8, 3));
  const auto year = strings::parse_int<int>(text.substr(12, 4));
  const auto hour = strings::parse_int<int>(text.substr(17, 2));
  const auto minute = strings::parse_int<int>(text.substr(20, 2));
  const auto second = strings::parse_int<int>(text.substr(23, 2));
  if (!day || month == kMonths.end() || !year || !hour || !minute || !second) return std::nullopt;
  return from_civil(CivilTime{.year = *year,
                              .month = static_cast<int>(month - kMonths.begin()) + 1,
                              .day = *day,
                              .hour = *hour,
                              .minute = *minute,
                              .second = *second,
                              .millisecond = 0,
                              .weekday = 0});
}

// "1.5" as milliseconds; fractions are not in the standard but in use.
std::optional<milliseconds> parse_seconds(std::string_view text) {
  const size_t point = text.find('.');
  const auto whole = strings::parse_int<std::uint32_t>(text.substr(0, point));
  if (!whole) return std::nullopt;
  milliseconds wait = std::chrono::seconds(*whole);
  if (point == std::string_view::npos) return wait;
  std::string thousandths(text.substr(point + 1, 3));
  thousandths.resize(3, '0');
  const auto fraction = strings::parse_int<std::uint16_t>(thousandths);
  return fraction ? std::optional(wait + milliseconds(*fraction)) : std::nullopt;
}

}  // namespace

std::optional<milliseconds> retry_after(const net::Headers& headers, UnixMs now) {
  if (const std::string* ms = headers.find("retry-after-ms")) {
    const auto count = strings::parse_int<std::uint32_t>(strings::trim(*ms).substr(0, ms->find('.')));
    if (count) return milliseconds(*count);
  }
  const std::string* value = headers.find("retry-after");
  if (value == nullptr) return std::nullopt;
  const std::string_view text = strings::trim(*value);
  if (const auto seconds = parse_seconds(text)) return seconds;
  const std::optional<UnixMs> date = parse_http_date(text);
  if (!date) return std::nullopt;
  return milliseconds(std::max<UnixMs>(0, *date - now));
}

Error from_response(const ErrorContext& context, int status, const net::Headers& headers,
                    std::string_view body, UnixMs now) {
  const Said said = read_body(body);
  const Code code = code_of_status(status == 400 && said.status == 401 ? 401 : status);
  std::string what = fmt::format("answered {} {}", status, net::reason_phrase(status));
  if (status >= 300 && status < 400) what += " (a redirect; put its target into llm.base_url)";
  Error error = make_error(context, code, said, what);
  error.with("status", fmt::to_string(status));
  if (code == Code::kPermissionDenied && status == 402) error.with("reason", "insufficient_quota");
  if (status < 400) error.with("retry", "no");
  error.retry_after = retry_after(headers, now);
  if (!error.retry_after) error.retry_after = said.wait;
  return error;
}

Error from_error_value(const ErrorContext& context, const json::Value& value) {
  const Said said = read_error_value(value);
  const Code code = said.status != 0 ? code_of_status(said.status) : code_of_words(said);
  Error error = make_error(context, code, said, "reported an error");
  if (said.status != 0) error.with("status", fmt::to_string(said.status));
  error.retry_after = said.wait;
  return error;
}

}  // namespace chela::llm::wire
