#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "llm/provider.h"

// Images in the messages of compatible APIs. Their bytes come with the request: nothing is fetched in a client's name.
namespace chela::api {

// An image whose bytes are base64 text. `where` names the field; kInvalidArgument with detail "param" for a type that models do not
// read and for what is no base64.
Result<llm::Image> image_from_base64(std::string_view media_type, std::string_view data,
                                     std::string_view where);

// The same from a "data:image/png;base64,..." address; any other address is refused.
Result<llm::Image> image_from_url(std::string_view url, std::string_view where);

}  // namespace chela::api
