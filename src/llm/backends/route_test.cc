#include "llm/backends/route.h"

#include <gtest/gtest.h>

#include <set>

namespace chela::llm {
namespace {

json::Value parsed(std::string_view text) { return *json::parse(text); }

class RouteTest : public ::testing::Test {
 protected:
  Route to(std::string_view name) {
    return route(name, catalog, providers, backend, [this](const ProviderEntry& entry) {
      return entry.key == KeyNeed::kOptional || keys.contains(entry.id);
    });
  }
  // "provider:model", "backend:model" or "local:model".
  std::string where(std::string_view name) {
    const Route found = to(name);
    const std::string whom = found.to == Route::To::kBackend ? "backend"
                             : found.to == Route::To::kLocal ? "local"
                                                             : found.provider->id;
    return whom + ":" + found.model;
  }

  Catalog catalog = *Catalog::parse({{"m", parsed(R"({"models":{
      "local":{"small":{}},"a":{"m":{"sent_as":"m-1"},"only-a":{}},"b":{"m":{}},"near":{"n":{}}},
      "aliases":{"best":"a/m","only-a":"a/m"}})")}});
  Providers providers = *Providers::parse({{"p", parsed(R"({"providers":{
      "a":{"aliases":["alpha"],"base_url":"https://a","key_env":["A"]},
      "b":{"base_url":"https://b","key_env":["B"]},
      "near":{"base_url":"http://localhost","key":"optional"}}})")}});
  BackendShape backend{.id = "openai_compatible", .takes_any = true};
  std::set<std::string> keys;
};

TEST_F(RouteTest, WhatNobodyKnowsGoesToTheBackendAsItIs) {
  for (const std::string_view name : {"x", "vendor/x", "vendor/x/y", "a", "/", ""})
    EXPECT_EQ(where(name), "backend:" + std::string(name));
}

TEST_F(RouteTest, AProviderIsAskedWhenThereIsItsKey) {
  keys = {"a"};
  EXPECT_EQ(where("a/m"), "a:m");
  EXPECT_EQ(where("alpha/x/y"), "a:x/y");
  EXPECT_EQ(where("m"), "a:m");
  EXPECT_EQ(where("best"), "a:m");
  EXPECT_EQ(where("BEST"), "a:m");
  keys = {"b"};
  EXPECT_EQ(where("m"), "b:m") << "the first that can be used";
}

TEST_F(RouteTest, WithoutItABackendOfAnyNamesIsAsked) {
  EXPECT_EQ(where("a/m"), "backend:a/m");
  EXPECT_EQ(where("m"), "backend:m");
  EXPECT_EQ(where("best"), "backend:best");
  backend = {.id = "b"};
  EXPECT_EQ(where("a/m"), "a:m") << "which says that the key is missing";
  EXPECT_EQ(where("only-a"), "a:only-a");
  EXPECT_EQ(where("m"), "backend:m") << "its own";
}

TEST_F(RouteTest, TheBackendCanBeNamed) {
  keys = {"a"};
  EXPECT_EQ(where("openai_compatible/m"), "backend:m");
  backend = {.id = "a"};
  EXPECT_EQ(where("a/m"), "backend:m");
  EXPECT_EQ(where("alpha/m"), "backend:m");
  EXPECT_EQ(where("best"), "backend:m");
}

TEST_F(RouteTest, WhatWasConfiguredForTheBackendIsItsOwn) {
  keys = {"a"};
  backend.own_model = "a/m";
  EXPECT_EQ(where("a/m"), "backend:a/m");
}

TEST_F(RouteTest, ModelsOfThisMachine) {
  EXPECT_EQ(where("local/small"), "local:local/small");
  EXPECT_EQ(where("local/other"), "local:local/other");
  EXPECT_EQ(where("small"), "backend:small");
  EXPECT_EQ(where("near/n"), "near:n");
  EXPECT_EQ(where("n"), "backend:n") << "a server that nobody configured";
  backend = {.id = "local"};
  EXPECT_EQ(where("n"), "near:n");
}

TEST_F(RouteTest, AnIdWinsOverAnAliasOfTheSameName) {
  keys = {"a"};
  EXPECT_EQ(where("a/only-a"), "a:only-a");
  EXPECT_EQ(where("only-a"), "a:only-a");
  EXPECT_EQ(sent_as(catalog, "a", "only-a"), "only-a");
}

TEST_F(RouteTest, AModelIsSentByTheProvidersOwnName) {
  EXPECT_EQ(sent_as(catalog, "a", "m"), "m-1");
  EXPECT_EQ(sent_as(catalog, "a", "best"), "m-1");
  EXPECT_EQ(sent_as(catalog, "a", "m-1"), "m-1");
  EXPECT_EQ(sent_as(catalog, "b", "m"), "m");
  EXPECT_EQ(sent_as(catalog, "b", "best"), "best");
  EXPECT_EQ(sent_as(catalog, "a", "unheard-of"), "unheard-of");
}

}  // namespace
}  // namespace chela::llm
