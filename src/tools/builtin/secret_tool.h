#pragma once

#include <memory>

#include "security/vault.h"
#include "tools/tool.h"

namespace chela::tools {

// request_secret: has the person asked for a credential, which goes to the vault without anybody seeing it. One that the vault has is
// replaced only when the person agreed to that in so many words. The vault outlives the tool.
std::unique_ptr<Tool> make_request_secret_tool(security::Vault& vault);

}  // namespace chela::tools
