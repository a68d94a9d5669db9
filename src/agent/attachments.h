#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/engine.h"
#include "agent/turn/state.h"

// Files that come with messages. Names, types and contents are from outside.
namespace chela::agent {

// One of them, with its bytes where they are needed (texts, and all that are still to be saved; null = they are in the blob store).
struct Attached {
  turn::Attachment file;
  std::shared_ptr<const std::string> bytes = {};
  enum class Saved { kNo, kYes } saved = Saved::kNo;
};

// A file name without any path in it: of the last part of `name`, plain letters (also beyond ASCII), digits and ". _ -", no dot at the
// front, at most kMaxAttachmentNameBytes, never empty.
std::string safe_name(std::string_view name);

// What each file will be: its name (no two the same), its path uploads/<message_id>/<name>, its kind by its bytes rather than by what is
// claimed. kInvalidArgument for too many, kTooLarge for too much.
Result<std::vector<Attached>> describe(std::vector<Upload> uploads, std::string_view message_id);

enum class Sight { kBlind, kSeesImages };  // of the model

// The part of a message that tells of its files: texts, up to kMaxAttachedTextBytes together, and where all of them are saved.
std::string attachments_text(const std::vector<Attached>& files, Sight sight);

}  // namespace chela::agent
