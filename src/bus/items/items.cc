#include "bus/items/items.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "base/json.h"
#include "bus/items/ops.h"

namespace chela::bus::items {
namespace {

// A record's space is "<tenant>\n<group>"; a tenant is "<realm>\n<user>", and neither has a line break.
std::string space_of(const Address& address) { return fmt::format("{}\n{}", address.tenant, address.group); }

std::optional<std::pair<std::string_view, std::string_view>> parts_of(std::string_view space) {
  const size_t realm = space.find('\n');
  const size_t tenant = realm == std::string_view::npos ? realm : space.find('\n', realm + 1);
  if (tenant == std::string_view::npos) return std::nullopt;
  return std::pair(space.substr(0, tenant), space.substr(tenant + 1));
}

// A record's value is the order, eight bytes with the lowest first, and the JSON text.
constexpr size_t kOrderBytes = 8;

std::string record_of(std::uint64_t order, const std::string& value) {
  std::string out;
  out.reserve(kOrderBytes + value.size());
  for (size_t i = 0; i < kOrderBytes; ++i) out += static_cast<char>(order >> (8 * i));
  out += value;
  return out;
}

std::uint64_t order_in(std::string_view record) {
  std::uint64_t order = 0;
  for (size_t i = kOrderBytes; i-- > 0;) order = order << 8 | static_cast<unsigned char>(record[i]);
  return order;
}

size_t bytes_of(const Address& address, const std::string& value) {
  return address.group.size() + address.key.size() + value.size();
}

}  // namespace

std::string to_text(const Change& change) {
  constexpr std::string_view kNull = "null";
  const std::string_view before = change.before == nullptr ? kNull : *change.before;
  const std::string_view after = change.after == nullptr ? kNull : *change.after;
  std::string out;
  out.reserve(before.size() + after.size() + change.errors.size() + 48);
  for (const std::string_view part :
       {std::string_view(R"({"old_value":)"), before, std::string_view(R"(,"new_value":)"), after})
    out += part;
  if (!change.errors.empty()) (out += R"(,"errors":)") += change.errors;
  out += '}';
  return out;
}

Result<std::string> name_list(const std::vector<std::string_view>& names) {
  std::string out = "[";
  for (const std::string_view name : names) {
    if (out.size() > 1) out += ',';
    json::write_string_to(out, name);
    if (out.size() > kMaxListBytes)
      return fail(Code::kTooLarge, "{} names have more than {} bytes, which is the limit of a list",
                  names.size(), kMaxListBytes);
  }
  out += ']';
  return out;
}

Task<Result<>> Items::load(std::unique_ptr<store::Records> records) {
  records_ = std::move(records);
  // Records come in the order of their keys.
  std::vector<std::tuple<std::uint64_t, std::string, std::string, Text>> found;
  Result<> read = co_await store::each_record(*records_, "", [&found](store::Record record) -> Result<> {
    if (record.value.size() < kOrderBytes || !parts_of(record.space))
      return fail(Code::kInternal, "the record {} / {} is not one of items: use another file_path",
                  record.space, record.key);
    auto value = std::make_shared<const std::string>(record.value.substr(kOrderBytes));
    found.emplace_back(order_in(record.value), std::move(record.space), std::move(record.key),
                       std::move(value));
    return {};
  });
  if (!read) co_return read;
  std::ranges::sort(found, {}, [](const auto& each) { return std::get<0>(each); });
  for (auto& [order, space, key, value] : found) {
    const auto [tenant, group] = *parts_of(space);
    put({.tenant = tenant, .group = group, .key = key}, std::move(value), order);
    last_order_ = order;
  }
  co_return Result<>();
}

Task<> Items::close() {
  if (records_) co_await records_->close();
}

const Items::Item* Items::item_of(const Address& address) const {
  const auto tenant = tenants_.find(address.tenant);
  if (tenant == tenants_.end()) return nullptr;
  const auto group = tenant->second.groups.find(address.group);
  if (group == tenant->second.groups.end()) return nullptr;
  const auto item = group->second.by_key.find(address.key);
  return item == group->second.by_key.end() ? nullptr : &*item->second;
}

Text Items::find(const Address& address) const {
  const Item* item = item_of(address);
  return item == nullptr ? nullptr : item->value;
}

Result<> Items::fits(const Tenant* tenant, const Address& address, const Item* item,
                     const Text& value) const {
  if (address.key.size() > limits_.key_bytes || address.group.size() > limits_.key_bytes)
    return fail(Code::kTooLarge, "a name of {} bytes; the limit is {}",
                std::max(address.key.size(), address.group.size()), limits_.key_bytes);
  if (value == nullptr) return {};
  if (value->size() > limits_.value_bytes)
    return fail(Code::kTooLarge, "a value of {} bytes; the limit is {}", value->size(), limits_.value_bytes);
  if (tenant == nullptr) return {};
  if (item == nullptr && tenant->items >= limits_.items)
    return fail(Code::kTooLarge, "{} items are kept, which is the limit: delete some", tenant->items);
  const size_t freed = item == nullptr ? 0 : bytes_of(address, *item->value);
  if (tenant->bytes - freed + bytes_of(address, *value) > limits_.bytes)
    return fail(Code::kTooLarge, "{} bytes are kept, and {} more would pass the limit of {}: delete some",
                tenant->bytes, value->size(), limits_.bytes);
  return {};
}

Result<Change> Items::write(const Address& address, Text value) {
  const Item* item = item_of(address);
  const auto tenant = tenants_.find(address.tenant);
  if (Result<> good = fits(tenant == tenants_.end() ? nullptr : &tenant->second, address, item, value); !good)
    return fail(std::move(good.error()));
  Change change{.before = item == nullptr ? nullptr : item->value, .after = value};
  store::RecordKey at;
  if (records_) at = {.space = space_of(address), .key = std::string(address.key)};
  // What is not there needs no erasing, unless it is still on its way from the disk.
  if (item == nullptr && value == nullptr && !unsettled_.contains(at)) return change;
  const std::uint64_t order = item == nullptr ? ++last_order_ : item->order;
  if (records_) {
    store::RecordChange row{.space = at.space, .key = at.key};
    if (value != nullptr) row.value = record_of(order, *value);
    std::vector<store::RecordChange> rows;
    rows.push_back(std::move(row));
    Task<Result<>> commit = records_->commit(std::move(rows));
    auto [unsettled, first] =
        unsettled_.try_emplace(at, Unsettled{.durable = change.before, .order = order, .writes = 0});
    ++unsettled->second.writes;
    change.durable = settle(std::move(at), value, order, std::move(commit));
  }
  if (value == nullptr) {
    erase(address);
  } else {
    put(address, std::move(value), order);
  }
  return change;
}

Result<Change> Items::update(const Address& address, std::string_view ops) {
  const Item* item = item_of(address);
  std::optional<json::Value> value;
  if (item != nullptr) {
    Result<json::Value> parsed = json::parse(*item->value);
    if (!parsed) return fail(std::move(parsed.error()));
    value = std::move(*parsed);
  }
  const Result<json::Value> list = json::parse(ops);
  if (!list) return fail(list.error());
  const Result<Updated> updated = apply_ops(std::move(value), *list);
  if (!updated) return fail(updated.error());
  Result<Change> change = write(address, std::make_shared<const std::string>(json::write(updated->value)));
  if (change && !updated->errors.empty()) change->errors = json::write(to_json(updated->errors));
  return change;
}

// When the disk has refused the last of an item's writes, memory goes back to what the disk has.
Task<Result<>> Items::settle(store::RecordKey where, Text value, std::uint64_t order, Task<Result<>> commit) {
  Result<> done = co_await std::move(commit);
  const auto at = unsettled_.find(where);
  Unsettled& unsettled = at->second;
  if (done) unsettled = {.durable = std::move(value), .order = order, .writes = unsettled.writes};
  if (--unsettled.writes > 0) co_return done;
  const Unsettled last = std::move(unsettled);
  unsettled_.erase(at);
  if (done) co_return done;
  const auto [tenant, group] = *parts_of(where.space);
  const Address address{.tenant = tenant, .group = group, .key = where.key};
  if (last.durable == nullptr) {
    erase(address);
  } else {
    put(address, last.durable, last.order);
  }
  co_return done;
}

void Items::put(const Address& address, Text value, std::uint64_t order) {
  auto tenant = tenants_.find(address.tenant);
  if (tenant == tenants_.end()) tenant = tenants_.emplace(std::string(address.tenant), Tenant()).first;
  auto group = tenant->second.groups.find(address.group);
  if (group == tenant->second.groups.end())
    group = tenant->second.groups.emplace(std::string(address.group), Group()).first;
  tenant->second.bytes += bytes_of(address, *value);
  if (const auto item = group->second.by_key.find(address.key); item != group->second.by_key.end()) {
    tenant->second.bytes -= bytes_of(address, *item->second->value);
    item->second->value = std::move(value);
    return;
  }
  ++tenant->second.items;
  ++size_;
  // At the end, but for one that a refusing disk brings back.
  std::list<Item>& items = group->second.items;
  auto behind = items.end();
  while (behind != items.begin() && std::prev(behind)->order > order) --behind;
  const auto item =
      items.insert(behind, Item{.key = std::string(address.key), .value = std::move(value), .order = order});
  group->second.by_key.emplace(item->key, item);
}

void Items::erase(const Address& address) {
  const auto tenant = tenants_.find(address.tenant);
  if (tenant == tenants_.end()) return;
  const auto group = tenant->second.groups.find(address.group);
  if (group == tenant->second.groups.end()) return;
  const auto found = group->second.by_key.find(address.key);
  if (found == group->second.by_key.end()) return;
  const auto item = found->second;
  tenant->second.bytes -= bytes_of(address, *item->value);
  --tenant->second.items;
  --size_;
  group->second.by_key.erase(found);
  group->second.items.erase(item);
  if (!group->second.items.empty()) return;
  tenant->second.groups.erase(group);
  if (tenant->second.groups.empty()) tenants_.erase(tenant);
}

Result<std::string> Items::list(std::string_view tenant_name, std::string_view group_name) const {
  const auto tenant = tenants_.find(tenant_name);
  if (tenant == tenants_.end()) return "[]";
  const auto group = tenant->second.groups.find(group_name);
  if (group == tenant->second.groups.end()) return "[]";
  size_t bytes = 2;
  for (const Item& item : group->second.items) bytes += item.value->size() + 1;
  if (bytes > kMaxListBytes)
    return fail(Code::kTooLarge, "the values of {} have {} bytes together; a list has {} at most", group_name,
                bytes, kMaxListBytes);
  std::string out;
  out.reserve(bytes);
  out += '[';
  for (const Item& item : group->second.items) {
    if (out.size() > 1) out += ',';
    out += *item.value;
  }
  out += ']';
  return out;
}

std::vector<std::string_view> Items::groups(std::string_view tenant_name, std::string_view prefix) const {
  std::vector<std::string_view> names;
  const auto tenant = tenants_.find(tenant_name);
  if (tenant == tenants_.end()) return names;
  const auto& groups = tenant->second.groups;
  for (auto group = groups.lower_bound(prefix); group != groups.end() && group->first.starts_with(prefix);
       ++group)
    names.emplace_back(group->first);
  return names;
}

}  // namespace chela::bus::items
