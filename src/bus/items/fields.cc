#include "bus/items/fields.h"

#include "bus/items/limits.h"

namespace chela::bus::items {

Result<Fields> Fields::read(Scanner& scanner, std::string_view data) {
  Result<Envelope> envelope = Envelope::read(scanner, data);
  if (!envelope) return coded(std::move(envelope.error()), kInputError);
  return Fields(std::move(*envelope));
}

Result<std::string_view> Fields::name_or_none(std::string_view key) {
  const std::optional<std::string_view> raw = envelope_.raw(key);
  if (!raw) return std::string_view();
  if (raw->front() != '"')
    return coded(Error{.code = Code::kInvalidArgument, .message = fmt::format("{} must be a text", key)},
                 kInputError);
  const std::optional<std::string_view> text = envelope_.text(key, kMaxItemKeyBytes);
  if (!text)
    return fail(Code::kTooLarge, "{} has more than {} bytes, which is the limit", key, kMaxItemKeyBytes);
  return *text;
}

Result<std::string_view> Fields::name(std::string_view key) {
  if (!envelope_.raw(key))
    return coded(Error{.code = Code::kInvalidArgument,
                       .message = fmt::format("{} is missing; it must be a text", key)},
                 kInputError);
  return name_or_none(key);
}

Result<std::string_view> Fields::raw(std::initializer_list<std::string_view> keys) const {
  for (const std::string_view key : keys) {
    if (const std::optional<std::string_view> value = envelope_.raw_or_null(key)) return *value;
  }
  return coded(Error{.code = Code::kInvalidArgument, .message = fmt::format("{} is missing", *keys.begin())},
               kInputError);
}

Result<ItemCall> read_item(Scanner& scanner, const TextCall& call, std::string_view group,
                           std::string_view key) {
  Result<Fields> fields = Fields::read(scanner, call.data);
  if (!fields) return fail(std::move(fields.error()));
  ItemCall made{.tenant = viewer_of(call.context.principal).tenant,
                .fields = std::move(*fields),
                .group = {},
                .key = {}};
  const Result<std::string_view> in = made.fields.name(group);
  if (!in) return fail(in.error());
  const Result<std::string_view> at = made.fields.name(key);
  if (!at) return fail(at.error());
  made.group = *in;
  made.key = *at;
  return made;
}

Failure coded(Error error, std::string_view code) {
  if (error.detail("bus_code").empty()) error.with("bus_code", std::string(code));
  return fail(std::move(error));
}

}  // namespace chela::bus::items
