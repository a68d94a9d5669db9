#include "api/image_part.h"

#include <algorithm>
#include <array>

#include "api/openai_errors.h"
#include "base/base64.h"
#include "base/strings.h"
#include "crypto/hash.h"

namespace chela::api {
namespace {

constexpr std::array<std::string_view, 4> kImageTypes = {"image/png", "image/jpeg", "image/gif",
                                                         "image/webp"};

}  // namespace

Result<llm::Image> image_from_base64(std::string_view media_type, std::string_view data,
                                     std::string_view where) {
  const std::string type = strings::lower(media_type);
  if (std::find(kImageTypes.begin(), kImageTypes.end(), type) == kImageTypes.end())
    return bad_param(where, "models read images of type image/png, image/jpeg, image/gif and image/webp");
  Result<std::string> bytes = base64::decode(data);
  if (!bytes || bytes->empty()) return bad_param(where, "expected an image as base64");
  llm::Image image{.media_type = type, .hash = crypto::content_hash(*bytes)};
  image.bytes = std::make_shared<const std::string>(std::move(*bytes));
  return image;
}

Result<llm::Image> image_from_url(std::string_view url, std::string_view where) {
  constexpr std::string_view kScheme = "data:";
  constexpr std::string_view kEncoding = ";base64";
  const size_t comma = url.find(',');
  if (!strings::iequals(url.substr(0, kScheme.size()), kScheme) || comma == std::string_view::npos)
    return bad_param(where, "images are not fetched; send the image itself as data:image/png;base64,...");
  std::string_view type = url.substr(kScheme.size(), comma - kScheme.size());
  if (!strings::iequals(type.substr(type.size() - std::min(type.size(), kEncoding.size())), kEncoding))
    return bad_param(where, "expected data:image/png;base64,...");
  type.remove_suffix(kEncoding.size());
  return image_from_base64(type.substr(0, type.find(';')), url.substr(comma + 1), where);
}

}  // namespace chela::api
