#include "app/model_access.h"

#include "base/utf8.h"
#include "llm/routing/words.h"

namespace chela::app {
namespace {

// The text that a worker is asked with; what is longer says nothing more.
constexpr size_t kAskedBytes = 16 * 1024;

}  // namespace

ModelAccess::ModelAccess(Parts parts)
    : parts_(std::move(parts)),
      cache_(
          {.loop = parts_.loop,
           .store = parts_.store,
           .metrics = parts_.metrics,
           .rules =
               [this] {
                 const config::LlmSettings& now = parts_.settings();
                 return llm::cache::CacheRules{
                     .enabled = now.cache, .ttl = now.cache_ttl, .max_entries = now.cache_entries};
               },
           .provider = [this](std::string_view model) { return parts_.backends.resolve(model).provider; }}),
      routing_(
          {.loop = parts_.loop,
           .metrics = parts_.metrics,
           .named = [this](std::string_view model) -> llm::Provider& { return named(model); },
           .provider_id = [this](std::string_view model) { return parts_.backends.resolve(model).provider; },
           .sees_images = [this](std::string_view model) { return parts_.backends.info(model).sees_images; },
           .rules = [this] { return rules(); },
           .elsewhere = [this](
                            const llm::Request& request,
                            std::stop_token stop) { return choice_of_worker(request, std::move(stop)); }}) {}

llm::routing::Rules ModelAccess::rules() const {
  const config::LlmSettings& now = parts_.settings();
  return {.cheap_model = now.cheap_model,
          .method = llm::routing::method_from_name(now.routing).value_or(llm::routing::Method::kScore),
          .cascade = now.cascade};
}

Task<std::optional<std::string>> ModelAccess::choice_of_worker(const llm::Request& request,
                                                               std::stop_token stop) {
  if (!bus_router_) co_return std::nullopt;
  const std::string_view text = llm::routing::own_words(llm::routing::asked_text(request));
  co_return co_await bus_router_->route(std::string(utf8::prefix(text, kAskedBytes)),
                                        static_cast<std::int64_t>(request.tools.size()), request.model,
                                        std::move(stop));
}

void ModelAccess::use(bus::Bus& bus) {
  bus_ = &bus;
  bus_router_ = std::make_unique<llm::BusRouter>(bus, parts_.asking);
}

llm::Provider& ModelAccess::named(std::string_view model) {
  llm::Provider& own = parts_.own(model);
  std::unique_ptr<llm::cache::CacheProvider>& cached = cached_[&own];
  if (!cached) cached = std::make_unique<llm::cache::CacheProvider>(own, cache_);
  if (bus_ == nullptr) return *cached;
  std::unique_ptr<llm::BusProvider>& before = workers_[&own];
  if (!before) before = std::make_unique<llm::BusProvider>(*cached, *bus_, parts_.asking, parts_.count);
  return *before;
}

}  // namespace chela::app
