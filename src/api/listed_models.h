#pragma once

#include <string>
#include <vector>

#include "api/services.h"

namespace chela::api {

// A model as clients name it.
struct ListedModel {
  std::string id;
  std::string provider;
};

// The models that can be asked: those that the backend says it has, then those that are known of the backend and of all providers
// that have a key. What needs no key and was not configured is left out: nobody knows whether it runs.
std::vector<ListedModel> listed_models(const Services& services, std::vector<std::string> offered);

}  // namespace chela::api
