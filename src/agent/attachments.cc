#include "agent/attachments.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/limits.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "crypto/hash.h"

namespace chela::agent {
namespace {

using Kind = turn::Attachment::Kind;

constexpr size_t kMaxMediaTypeBytes = 100;
constexpr std::string_view kUnknownType = "application/octet-stream";

bool plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || std::isalnum(byte) != 0 || c == '.' || c == '_' || c == '-';
}

// "text/plain; charset=utf-8" is text/plain; what is no type is an unknown one.
std::string media_type_of(std::string_view claimed) {
  const std::string type = strings::lower(strings::trim(claimed.substr(0, claimed.find(';'))));
  const size_t slash = type.find('/');
  const auto good = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '+' || c == '-' || c == '/';
  };
  const bool fits = slash != std::string::npos && slash > 0 && slash + 1 < type.size() &&
                    std::count(type.begin(), type.end(), '/') == 1 && type.size() <= kMaxMediaTypeBytes &&
                    std::all_of(type.begin(), type.end(), good);
  return fits ? type : std::string(kUnknownType);
}

// The type of an image that models take, by its first bytes; "" when it is none.
std::string_view image_type(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return "image/png";
  if (bytes.starts_with("\xff\xd8\xff")) return "image/jpeg";
  if (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a")) return "image/gif";
  if (bytes.size() > 12 && bytes.starts_with("RIFF") && bytes.substr(8, 4) == "WEBP") return "image/webp";
  return {};
}

bool is_text(std::string_view bytes) {
  return bytes.find('\0') == std::string_view::npos && utf8::valid(bytes);
}

// A second "a.txt" becomes "a-2.txt".
std::string unused(const std::string& name, std::set<std::string>& used) {
  const size_t dot = name.rfind('.');
  const std::string stem = name.substr(0, dot);
  const std::string ending = dot == std::string::npos ? "" : name.substr(dot);
  std::string candidate = name;
  for (int n = 2; !used.insert(strings::lower(candidate)).second; ++n)
    candidate = fmt::format("{}-{}{}", stem, n, ending);
  return candidate;
}

// The file's text, in which nothing can end the block it stands in.
std::string quoted(std::string_view text) {
  return strings::replace_all(std::string(text), "</attachment", "&lt;/attachment");
}

}  // namespace

std::string safe_name(std::string_view name) {
  const std::string clean = utf8::sanitize(name);
  const size_t slash = clean.find_last_of("/\\");
  std::string out;
  for (const char c : slash == std::string::npos ? clean : clean.substr(slash + 1)) out += plain(c) ? c : '_';
  out.erase(0, out.find_first_not_of('.'));
  if (out.size() > kMaxAttachmentNameBytes) {
    // The ending says what it is: the middle goes.
    const size_t dot = out.rfind('.');
    const std::string ending = dot == std::string::npos || out.size() - dot > 16 ? "" : out.substr(dot);
    out = std::string(utf8::prefix(out, kMaxAttachmentNameBytes - ending.size())) + ending;
  }
  return out.empty() ? "file" : out;
}

Result<std::vector<Attached>> describe(std::vector<Upload> uploads, std::string_view message_id) {
  if (uploads.size() > kMaxAttachments) {
    return fail(Code::kInvalidArgument, "the message has {} attachments; at most {} are taken",
                uploads.size(), kMaxAttachments);
  }
  size_t total = 0;
  for (const Upload& each : uploads) total += each.bytes.size();
  if (total > kMaxAttachmentBytes) {
    return fail(Code::kTooLarge, "the attachments have {} bytes; at most {} are taken with one message",
                total, kMaxAttachmentBytes);
  }
  std::vector<Attached> files;
  std::set<std::string> used;
  for (Upload& each : uploads) {
    turn::Attachment file{.name = unused(safe_name(each.name), used),
                          .media_type = media_type_of(each.media_type),
                          .size = static_cast<std::int64_t>(each.bytes.size()),
                          .path = {}};
    file.path = fmt::format("uploads/{}/{}", message_id, file.name);
    const std::string_view image = image_type(each.bytes);
    if (!image.empty()) {
      file.media_type = image;
      if (each.bytes.size() <= kMaxAttachedImageBytes) file.kind = Kind::kImage;
    } else if (is_text(each.bytes)) {
      file.kind = Kind::kText;
    }
    if (file.kind != Kind::kFile) file.hash = crypto::content_hash(each.bytes);
    files.push_back({std::move(file), std::make_shared<const std::string>(std::move(each.bytes))});
  }
  return files;
}

std::string attachments_text(const std::vector<Attached>& files, Sight sight) {
  std::string out;
  size_t left = kMaxAttachedTextBytes;
  for (const Attached& each : files) {
    const turn::Attachment& file = each.file;
    out += fmt::format("\n\n<attachment name=\"{}\" media_type=\"{}\" bytes=\"{}\" path=\"{}\">", file.name,
                       file.media_type, file.size, file.path);
    if (file.kind == Kind::kImage && sight == Sight::kSeesImages) {
      out += "[shown with this message]";
    } else if (file.kind == Kind::kText && each.bytes) {
      const std::string_view shown = utf8::prefix(*each.bytes, left);
      left -= shown.size();
      out += "\n" + quoted(shown) + "\n";
      if (shown.size() < each.bytes->size())
        out +=
            fmt::format("[{} of {} bytes; read the file for the rest]\n", shown.size(), each.bytes->size());
    } else {
      out += "[saved in the workspace, not shown]";
    }
    out += "</attachment>";
  }
  return out;
}

}  // namespace chela::agent
