#include "tools/builtin/secret_tool.h"

#include "tools/basic_tool.h"

namespace chela::tools {
namespace {

// Whether the person has a secret of this name.
Task<Result<bool>> in_vault(security::Vault& vault, Scope scope, std::string name) {
  const Result<crypto::Secret> present = co_await vault.get(std::move(scope), std::move(name));
  if (present) co_return true;
  if (present.error().code == Code::kNotFound) co_return false;
  co_return fail(present.error());
}

class RequestSecretTool final : public BasicTool {
 public:
  explicit RequestSecretTool(security::Vault& vault)
      : BasicTool(
            {.name = "request_secret",
             .description =
                 "Asks the person for a credential (an API key, a token, a password). What they give is kept "
                 "in "
                 "the vault under the name; you never see it. The result says only whether it was stored. A "
                 "name that the vault has already needs the "
                 "person's approval, because its value is replaced.",
             .parameters = parameters(
                 R"({"type": "object", "required": ["name"], "additionalProperties": false, "properties": {
                     "name": {"type": "string", "pattern": "^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}$", "description": "what it is called in the vault, for example github_token"},
                     "reason": {"type": "string", "maxLength": 1000, "description": "what it is needed for and where the person gets it"}}})"),
             .idempotence = Idempotence::kRepeatable}),
        vault_(vault) {}

  Task<Result<std::optional<std::string>>> question(Scope scope, json::Value arguments) override {
    const std::string name = arguments.string_or("name");
    const Result<bool> present = co_await in_vault(vault_, std::move(scope), name);
    if (!present) co_return fail(present.error());
    if (!*present) co_return std::optional<std::string>();
    co_return fmt::format(
        "THE SECRET {} IN THE VAULT WILL BE REPLACED by what you are asked for next. Its present value is "
        "lost, and whatever uses it gets the new one.",
        name);
  }

  Task<Result<ToolResult>> call(ToolContext context, json::Value arguments) override {
    const std::string name = arguments.string_or("name");
    const std::string reason = arguments.string_or("reason");
    const bool agreed = context.consent == Consent::kGiven;
    if (!agreed) {
      // Stored by another turn since the question was decided.
      const Result<bool> present = co_await in_vault(vault_, context.scope, name);
      if (!present) co_return fail(present.error());
      if (*present) {
        co_return ToolResult::error(fmt::format(
            "the vault has a secret {} already and nobody agreed to replace it. Use another name, or call "
            "this again to have the person asked",
            name));
      }
    }
    ToolResult result;
    result.credential = CredentialRequest{
        .name = name,
        .instructions = reason.empty() ? fmt::format("Please give the value of {}.", name) : reason,
        .replacing = agreed ? Replacing::kExisting : Replacing::kNothing};
    co_return result;
  }

 private:
  security::Vault& vault_;
};

}  // namespace

std::unique_ptr<Tool> make_request_secret_tool(security::Vault& vault) {
  return std::make_unique<RequestSecretTool>(vault);
}

}  // namespace chela::tools
