#include "net/curl_api.h"

#include <dlfcn.h>

namespace chela::net {
namespace {

template <class Function>
bool find(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(::dlsym(library, name));
  return into != nullptr;
}

}  // namespace

Result<std::shared_ptr<const CurlApi>> CurlApi::load() {
  void* library = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library)
    return fail(Code::kUnavailable,
                "libcurl.so.4 is missing, so no HTTP requests can be made; install the package libcurl4");
  const auto api = std::make_shared<CurlApi>();
  const bool complete = find(library, "curl_global_init", api->global_init) &&
                        find(library, "curl_easy_init", api->easy_init) &&
                        find(library, "curl_easy_cleanup", api->easy_cleanup) &&
                        find(library, "curl_easy_setopt", api->easy_setopt) &&
                        find(library, "curl_easy_getinfo", api->easy_getinfo) &&
                        find(library, "curl_easy_pause", api->easy_pause) &&
                        find(library, "curl_easy_strerror", api->easy_strerror) &&
                        find(library, "curl_slist_append", api->slist_append) &&
                        find(library, "curl_slist_free_all", api->slist_free_all) &&
                        find(library, "curl_multi_init", api->multi_init) &&
                        find(library, "curl_multi_cleanup", api->multi_cleanup) &&
                        find(library, "curl_multi_setopt", api->multi_setopt) &&
                        find(library, "curl_multi_add_handle", api->multi_add_handle) &&
                        find(library, "curl_multi_remove_handle", api->multi_remove_handle) &&
                        find(library, "curl_multi_socket_action", api->multi_socket_action) &&
                        find(library, "curl_multi_info_read", api->multi_info_read) &&
                        find(library, "curl_multi_assign", api->multi_assign);
  if (!complete || api->global_init(CURL_GLOBAL_ALL) != CURLE_OK) {
    return fail(Code::kUnavailable, "libcurl.so.4 is unusable; reinstall the package libcurl4");
  }
  return api;
}

}  // namespace chela::net
