#include "agent/engine_impl.h"
#include "agent/limits.h"

// The files of messages: into the workspace and the blob store before the message is recorded, out of it for the model.
namespace chela::agent {

// What the record will name is stored when this returns: the last step before it, so that a refused message leaves nothing behind.
Task<Result<std::vector<Attached>>> EngineImpl::saved(Scope scope, std::vector<Attached> files) {
  for (Attached& each : files) {
    if (each.saved == Attached::Saved::kYes) continue;
    const Result<> kept = co_await d_.uploads.save(scope, each.file.path, *each.bytes);
    if (!kept) co_return fail(kept.error());
    each.saved = Attached::Saved::kYes;
    if (each.file.hash.empty()) continue;
    const Result<> stored = co_await prompts_.put(scope, each.file.hash, *each.bytes);
    if (!stored) co_return fail(stored.error());
  }
  co_return files;
}

// Those of a message that was recorded before.
Task<Result<std::vector<Attached>>> EngineImpl::recorded_attachments(Scope scope,
                                                                     std::vector<turn::Attachment> recorded) {
  std::vector<Attached> files;
  for (turn::Attachment& file : recorded) {
    Attached attached{.file = std::move(file), .saved = Attached::Saved::kYes};
    if (attached.file.kind == turn::Attachment::Kind::kText) {
      Result<std::string> text = co_await d_.blobs.get(scope, attached.file.hash);
      if (!text) co_return fail(text.error());
      attached.bytes = std::make_shared<const std::string>(std::move(*text));
    }
    files.push_back(std::move(attached));
  }
  co_return files;
}

// The bytes of the images that a request names, the newest first. From the first that has no room on, they are named only.
Task<Result<llm::Request>> EngineImpl::with_images(Scope scope, llm::Request request) {
  size_t left = kMaxRequestImageBytes;
  bool room = true;
  for (auto message = request.messages.rbegin(); message != request.messages.rend(); ++message) {
    std::vector<llm::Image>& images = message->images;
    size_t shown_from = images.size();
    while (room && shown_from > 0) {
      llm::Image& image = images[shown_from - 1];
      Result<std::string> bytes = co_await d_.blobs.get(scope, image.hash);
      const bool lost = !bytes && bytes.error().code == Code::kNotFound;
      if (!bytes && !lost) co_return fail(bytes.error());
      room = lost || bytes->size() <= left;
      if (!room) break;
      --shown_from;
      if (lost) {
        message->content +=
            fmt::format("\n[an image of this message ({}) is no longer stored]", image.media_type);
        images.erase(images.begin() + static_cast<std::ptrdiff_t>(shown_from));
        continue;
      }
      left -= bytes->size();
      image.bytes = std::make_shared<const std::string>(std::move(*bytes));
    }
    for (size_t i = 0; i < shown_from; ++i)
      message->content += fmt::format("\n[image {} of this message ({}) is too far back to be shown again]",
                                      i + 1, images[i].media_type);
    images.erase(images.begin(), images.begin() + static_cast<std::ptrdiff_t>(shown_from));
  }
  co_return request;
}

}  // namespace chela::agent
