#pragma once

#include <curl/curl.h>

#include <memory>

#include "base/result.h"

namespace chela::net {

// The functions of libcurl that the client uses, found with dlopen at run time. Compiled against curl's headers, not linked.
struct CurlApi {
  // kUnavailable when the library is missing. The library stays loaded: its resolver threads may outlive a client.
  static Result<std::shared_ptr<const CurlApi>> load();

  decltype(&curl_global_init) global_init;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_pause) easy_pause;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
  decltype(&curl_multi_init) multi_init;
  decltype(&curl_multi_cleanup) multi_cleanup;
  decltype(&curl_multi_setopt) multi_setopt;
  decltype(&curl_multi_add_handle) multi_add_handle;
  decltype(&curl_multi_remove_handle) multi_remove_handle;
  decltype(&curl_multi_socket_action) multi_socket_action;
  decltype(&curl_multi_info_read) multi_info_read;
  decltype(&curl_multi_assign) multi_assign;
};

}  // namespace chela::net
