#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/strings.h"
#include "bus/items/limits.h"
#include "runtime/task.h"
#include "store/records.h"

namespace chela::bus::items {

// A JSON value as the text it came as; shared by who keeps it and who is told of it.
using Text = std::shared_ptr<const std::string>;

struct ItemLimits {
  size_t value_bytes = kMaxItemBytes;
  size_t key_bytes = kMaxItemKeyBytes;
  size_t items = kMaxItems;
  size_t bytes = kMaxItemsBytes;
};

// Which item: whose, in which of his groups, under which key.
struct Address {
  std::string_view tenant;
  std::string_view group;
  std::string_view key;
};

// What has become of an item.
struct Change {
  Text before;              // null: there was none
  Text after;               // null: there is none
  std::string errors = {};  // of operations of an update, a JSON list; "" = none
  std::optional<Task<Result<>>> durable =
      std::nullopt;  // must be awaited where there is one; nothing: it is so already
};

// {"old_value","new_value"} and "errors" where there are some; nothing there is null.
std::string to_text(const Change& change);

// ["name", ...]. kTooLarge past kMaxListBytes.
Result<std::string> name_list(const std::vector<std::string_view>& names);

// JSON values by tenant, group and key; the items of a group have the order in which they were first set. All of it is in memory; with
// records every change is also on the disk when its `durable` has ended. Who reads may see a change that is not yet: it is taken back
// should the disk refuse it. Loop thread only.
class Items {
 public:
  explicit Items(ItemLimits limits = {}) : limits_(limits) {}

  // Loads what the records hold, and keeps them from now on. Once, before anything else.
  Task<Result<>> load(std::unique_ptr<store::Records> records);
  // Ends the records. Changes fail from then on, where there were any.
  Task<> close();

  // Null when there is none.
  Text find(const Address& address) const;

  // Null erases. kTooLarge (a name, a value, all of them) changes nothing.
  Result<Change> write(const Address& address, Text value);
  // Applies iii's operations, JSON text as apply_ops() takes them, to the item, atomically.
  Result<Change> update(const Address& address, std::string_view ops);

  // "[value, ...]". kTooLarge when that would pass kMaxListBytes.
  Result<std::string> list(std::string_view tenant, std::string_view group) const;
  // In the order of their bytes; those that begin with the prefix.
  std::vector<std::string_view> groups(std::string_view tenant, std::string_view prefix = "") const;

  size_t size() const { return size_; }  // items of all tenants

 private:
  struct Item {
    std::string key;
    Text value;
    std::uint64_t order;
  };
  struct Group {
    std::list<Item> items;
    std::unordered_map<std::string_view, std::list<Item>::iterator> by_key;  // views into the items' keys
  };
  struct Tenant {
    std::map<std::string, Group, std::less<>> groups;
    size_t items = 0;
    size_t bytes = 0;
  };
  // What the disk has of an item that is being written.
  struct Unsettled {
    Text durable;
    std::uint64_t order;
    size_t writes;  // that are under way
  };

  Result<> fits(const Tenant* tenant, const Address& address, const Item* item, const Text& value) const;
  // Puts or erases without a question. `order` is for an item that is new.
  void put(const Address& address, Text value, std::uint64_t order);
  void erase(const Address& address);
  const Item* item_of(const Address& address) const;
  Task<Result<>> settle(store::RecordKey where, Text value, std::uint64_t order, Task<Result<>> commit);

  const ItemLimits limits_;
  std::unordered_map<std::string, Tenant, strings::Hash, std::equal_to<>> tenants_;
  std::unique_ptr<store::Records> records_;
  std::map<store::RecordKey, Unsettled> unsettled_;
  std::uint64_t last_order_ = 0;
  size_t size_ = 0;
};

}  // namespace chela::bus::items
