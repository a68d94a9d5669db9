#include "config/yaml.h"

#include <yaml-cpp/emitterstyle.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <set>
#include <sstream>

#include "base/strings.h"
#include "base/utf8.h"

namespace chela::config {
namespace {

constexpr std::string_view kPlain = "?";
constexpr std::string_view kQuoted = "!";
constexpr std::string_view kText = "tag:yaml.org,2002:str";

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> all) {
  return std::ranges::find(all, text) != all.end();
}

std::optional<std::int64_t> based(std::string_view digits, int base) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (digits.empty() || digits.front() == '-' || problem != std::errc{} ||
      end != digits.data() + digits.size())
    return std::nullopt;
  return number;
}

// JSON's own grammar with what YAML allows beyond it: a plus sign, zeros in front, nothing before or after the point.
std::optional<json::Value> number_of(std::string_view text) {
  if (text.starts_with("0x")) return based(text.substr(2), 16);
  if (text.starts_with("0o")) return based(text.substr(2), 8);
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  const auto digits = [&rest] {
    std::string_view taken = rest.substr(0, rest.find_first_not_of("0123456789"));
    rest.remove_prefix(taken.size());
    return taken;
  };
  std::string_view whole = digits();
  std::string_view fraction;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    fraction = digits();
  }
  if (whole.empty() && fraction.empty()) return std::nullopt;
  std::string exponent;
  if (rest.starts_with('e') || rest.starts_with('E')) {
    rest.remove_prefix(1);
    exponent = "e";
    if (rest.starts_with('-') || rest.starts_with('+')) {
      exponent += rest.front();
      rest.remove_prefix(1);
    }
    const std::string_view power = digits();
    if (power.empty()) return std::nullopt;
    exponent += power;
  }
  if (!rest.empty()) return std::nullopt;
  while (whole.size() > 1 && whole.front() == '0') whole.remove_prefix(1);
  std::string json = fmt::format("{}{}", negative ? "-" : "", whole.empty() ? "0" : whole);
  if (!fraction.empty()) json += fmt::format(".{}", fraction);
  Result<json::Value> number = json::parse(json + exponent);
  return number ? std::optional(std::move(*number)) : std::nullopt;
}

json::Value plain_scalar(std::string_view text) {
  if (is_one_of(text, {"", "~", "null", "Null", "NULL"})) return {};
  if (is_one_of(text, {"true", "True", "TRUE"})) return true;
  if (is_one_of(text, {"false", "False", "FALSE"})) return false;
  if (std::optional<json::Value> number = number_of(text)) return std::move(*number);
  return text;
}

class Reader {
 public:
  explicit Reader(std::string_view path) : path_(path) {}

  Result<json::Value> read(const YAML::Node& node, size_t depth) {
    if (depth > kMaxYamlDepth) return problem(node, Code::kTooLarge, "is nested too deeply");
    if (++nodes_ > kMaxYamlNodes) return problem(node, Code::kTooLarge, "the document has too many values");
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        return json::Value();
      case YAML::NodeType::Scalar:
        return scalar(node);
      case YAML::NodeType::Sequence:
        return sequence(node, depth);
      case YAML::NodeType::Map:
        break;
    }
    return map(node, depth);
  }

 private:
  Result<json::Value> problem(const YAML::Node& node, Code code, std::string_view what) const {
    return fail(code, "{}:{}: {}", path_, node.Mark().line + 1, what);
  }

  Result<json::Value> scalar(const YAML::Node& node) const {
    const std::string& tag = node.Tag();
    if (tag == kPlain || tag.empty()) return plain_scalar(node.Scalar());
    if (tag == kQuoted || tag == kText) return json::Value(node.Scalar());
    return problem(node, Code::kInvalidArgument, fmt::format("the tag {} means nothing here", tag));
  }

  Result<json::Value> sequence(const YAML::Node& node, size_t depth) {
    json::Array items;
    for (const YAML::Node& each : node) {
      Result<json::Value> item = read(each, depth + 1);
      if (!item) return item;
      items.push_back(std::move(*item));
    }
    return json::Value(std::move(items));
  }

  Result<json::Value> map(const YAML::Node& node, size_t depth) {
    json::Object object;
    std::set<std::string> keys;
    for (const auto& each : node) {
      if (!each.first.IsScalar()) return problem(each.first, Code::kInvalidArgument, "a key must be a text");
      const std::string& key = each.first.Scalar();
      if (!keys.insert(key).second)
        return problem(each.first, Code::kInvalidArgument, fmt::format("the key '{}' occurs twice", key));
      Result<json::Value> value = read(each.second, depth + 1);
      if (!value) return value;
      object.append(key, std::move(*value));
    }
    return json::Value(std::move(object));
  }

  std::string_view path_;
  size_t nodes_ = 0;
};

class Ignored final : public YAML::EventHandler {
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
  }
  void OnMapEnd() override {}
};

// How many documents there are, 2 standing for more: with some texts the library finds another one for ever.
int documents_in(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Ignored ignored;
  int documents = 0;
  while (documents < 2 && parser.HandleNextDocument(ignored)) ++documents;
  return documents;
}

}  // namespace

Result<json::Value> parse_yaml(std::string_view text, std::string_view path) {
  if (text.size() > kMaxYamlBytes)
    return fail(Code::kTooLarge, "{}: has {} bytes; {} are the limit", path, text.size(), kMaxYamlBytes);
  if (!utf8::valid(text)) return fail(Code::kInvalidArgument, "{}: is not UTF-8", path);
  try {
    const std::string whole(text);
    const int documents = documents_in(whole);
    if (documents == 0) return json::Value();
    if (documents > 1)
      return fail(Code::kInvalidArgument, "{}: has several documents; one is expected", path);
    return Reader(path).read(YAML::Load(whole), 0);
  } catch (const YAML::Exception& error) {
    return fail(Code::kInvalidArgument, "{}:{}: {}", path, error.mark.line + 1, error.msg);
  } catch (const std::exception& error) {
    return fail(Code::kInvalidArgument, "{}: {}", path, error.what());
  }
}

}  // namespace chela::config
