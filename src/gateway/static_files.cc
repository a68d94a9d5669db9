#include "gateway/static_files.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace chela::gateway {
namespace {

// Scripts, styles and connections of this gateway only, nothing inline; images also as data that the page itself made or was given.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src "
    "'self'; font-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
constexpr std::string_view kLastingCache = "public, max-age=31536000, immutable";
constexpr std::string_view kCheckedCache = "no-cache";

// "gzip" or "*" in Accept-Encoding, unless its weight is 0.
bool takes_gzip(const net::HttpRequest& request) {
  for (const std::string_view part : strings::split(request.headers.value_or("Accept-Encoding"), ',')) {
    const std::string_view coding = strings::trim(part.substr(0, part.find(';')));
    if (!strings::iequals(coding, "gzip") && coding != "*") continue;
    const size_t weight = part.find("q=");
    if (weight == std::string_view::npos) return true;
    return part.substr(weight + 2).find_first_of("123456789") != std::string_view::npos;
  }
  return false;
}

// If-None-Match: any of the listed tags, weak ones too.
bool has_it(const net::HttpRequest& request, std::string_view tag) {
  for (std::string_view each : strings::split(request.headers.value_or("If-None-Match"), ',')) {
    each = strings::trim(each);
    if (each == "*") return true;
    if (each.starts_with("W/")) each.remove_prefix(2);
    if (each == tag) return true;
  }
  return false;
}

}  // namespace

const StaticFile* find_static(std::span<const StaticFile> files, std::string_view path) {
  for (const StaticFile& file : files) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

bool is_static_path(std::string_view path) { return path == "/" || path.starts_with("/assets/"); }

net::HttpResponse static_reply(const StaticFile& file, const net::HttpRequest& request) {
  const bool compressed = takes_gzip(request);
  // Two forms of one file are two tags.
  const std::string tag = fmt::format("\"{}{}\"", file.etag, compressed ? "-gz" : "");
  net::HttpResponse response;
  response.headers.add("ETag", tag);
  response.headers.add("Vary", "Accept-Encoding");
  response.headers.add("Cache-Control", file.lasting == Lasting::kYes ? kLastingCache : kCheckedCache);
  response.headers.add("Content-Security-Policy", kPolicy);
  if (has_it(request, tag)) {
    response.status = 304;
    return response;
  }
  response.headers.add("Content-Type", file.type);
  if (compressed) response.headers.add("Content-Encoding", "gzip");
  response.body = compressed ? file.gzip : file.plain;
  return response;
}

}  // namespace chela::gateway
