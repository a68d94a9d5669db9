#pragma once

#include <span>
#include <string_view>

#include "net/http.h"

// The web page: files that are part of the program. Their bytes are read-only data, so they cost memory only while they are sent.
namespace chela::gateway {

enum class Lasting {
  kNo,
  kYes
};  // kYes: the name has a hash of the content in it, so a browser may keep the file for ever

struct StaticFile {
  std::string_view path;
  std::string_view type;
  std::string_view etag;  // without quotes
  Lasting lasting;
  std::string_view plain;
  std::string_view gzip;
};

// All files of the page; defined by what scripts/web.sh makes of web/.
std::span<const StaticFile> page_files();

// nullptr when there is no such file.
const StaticFile* find_static(std::span<const StaticFile> files, std::string_view path);

// What the path would be a file of, if there were one: such a path is never an operation.
bool is_static_path(std::string_view path);

// The answer to GET or HEAD: 304 for a client that has the file, compressed for one that takes gzip.
net::HttpResponse static_reply(const StaticFile& file, const net::HttpRequest& request);

}  // namespace chela::gateway
