#include "llm/bedrock/sign.h"

#include <algorithm>
#include <map>

#include "base/strings.h"
#include "crypto/hash.h"
#include "llm/wire/server.h"
#include "net/url.h"

namespace chela::llm::bedrock {
namespace {

std::string stamp(UnixMs now) {
  const CivilTime t = to_civil(now);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", t.year, t.month, t.day, t.hour, t.minute, t.second);
}

// The path as it is signed: each segment of what is sent is encoded once more.
std::string signed_path(std::string_view path) {
  std::string out;
  for (const std::string_view segment : strings::split(path, '/')) {
    if (!out.empty() || segment.data() != path.data()) out += '/';
    out += wire::url_segment(segment);
  }
  return out.empty() ? "/" : out;
}

std::string signed_query(std::string_view query) {
  if (query.empty()) return {};
  std::vector<std::string> pairs;
  for (const std::string_view pair : strings::split(query, '&'))
    pairs.push_back(pair.find('=') == std::string_view::npos ? std::string(pair) + "=" : std::string(pair));
  std::ranges::sort(pairs);
  return strings::join(pairs, "&");
}

}  // namespace

void sign(net::ClientRequest& request, const Keys& keys, std::string_view region, std::string_view service,
          UnixMs now) {
  const Result<net::Url> url = net::Url::parse(request.url);
  if (!url) return;  // the client refuses it
  const std::string time = stamp(now);
  const std::string scope = fmt::format("{}/{}/{}/aws4_request", time.substr(0, 8), region, service);
  request.headers.set("X-Amz-Date", time);
  if (!keys.session_token.empty()) request.headers.set("X-Amz-Security-Token", keys.session_token);

  const bool plain_port = url->port == (url->scheme == "https" ? 443 : 80);
  std::map<std::string, std::string> headers{
      {"host", plain_port ? url->host : fmt::format("{}:{}", url->host, url->port)}};
  for (const std::string_view name : {"content-type", "x-amz-date", "x-amz-security-token"}) {
    if (const std::string* value = request.headers.find(name))
      headers[std::string(name)] = strings::trim(*value);
  }
  std::string lines;
  std::string names;
  for (const auto& [name, value] : headers) {
    lines += fmt::format("{}:{}\n", name, value);
    names += names.empty() ? name : ";" + name;
  }
  const std::string canonical =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, signed_path(url->path), signed_query(url->query),
                  lines, names, crypto::sha256_hex(request.body));
  const std::string text =
      fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", time, scope, crypto::sha256_hex(canonical));
  std::string key = crypto::hmac_sha256("AWS4" + keys.secret_key, time.substr(0, 8));
  for (const std::string_view step : {region, service, std::string_view("aws4_request")})
    key = crypto::hmac_sha256(key, step);
  request.headers.set(
      "Authorization",
      fmt::format("AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}", keys.access_key, scope,
                  names, crypto::to_hex(crypto::hmac_sha256(key, text))));
}

}  // namespace chela::llm::bedrock
