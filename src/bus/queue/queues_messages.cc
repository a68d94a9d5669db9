#include "bus/queue/queues.h"

namespace chela::bus::queue {

Task<Result<std::string>> Queues::enqueue(Owner sender, EnqueueRequest request, std::string id) {
  if (stopped_) co_return fail(Code::kUnavailable, "the engine stops");
  const auto named = settings_.named.find(request.queue);
  if (named == settings_.named.end()) co_return fail(Code::kNotFound, "Queue '{}' not found", request.queue);
  const Policy& policy = named->second;
  Result<std::optional<std::string>> group = policy.group_of(request.data, request.queue);
  if (!group) co_return fail(group.error());
  Result<std::shared_ptr<Queue>> target =
      queue({.realm = sender.realm, .user = sender.user, .name = std::move(request.queue)});
  if (!target) co_return fail(target.error());
  const UnixMs now = shared_.loop.clock().now();
  const int priority = policy.priority_of(request.data);
  auto message =
      std::make_shared<Message>(Message{.id = id.empty() ? ids_.next() : std::move(id),
                                        .function_id = std::move(request.function_id),
                                        .sender = std::make_shared<const op::Principal>(
                                            op::Principal{.realm = std::move(sender.realm),
                                                          .user = std::move(sender.user),
                                                          .permissions = std::move(sender.permissions),
                                                          .expires = sender.expires,
                                                          .token_id = std::move(sender.token_id)}),
                                        .data = Payload::of_text(json::write(request.data)),
                                        .created = now,
                                        .group = std::move(*group),
                                        .priority = priority,
                                        .traceparent = std::move(request.traceparent),
                                        .baggage = std::move(request.baggage)});
  request.data = json::Value();  // its text is there
  message->seq = ++last_seq_;
  std::vector<store::RecordChange> changes;
  changes.push_back(put_message((*target)->id(), *message));
  // What is no record would fail all that is written with it.
  if (const Result<> fits = store::check_records(changes); !fits) co_return fail(fits.error());
  const size_t bytes = message->bytes();
  if (const Result<> room = (*target)->reserve(bytes); !room) co_return fail(room.error());
  if (const Result<> written = co_await shared_.journal.commit(std::move(changes)); !written) {
    (*target)->give_back(bytes);
    co_return fail(written.error());
  }
  std::string receipt = message->id;
  (*target)->add(std::move(message));
  co_return receipt;
}

Task<Result<>> Queues::publish(Owner sender, std::string topic, json::Value data, std::string traceparent,
                               std::string baggage) {
  if (stopped_) co_return fail(Code::kUnavailable, "the engine stops");
  const UnixMs now = shared_.loop.clock().now();
  std::vector<std::shared_ptr<Queue>> targets = topic_queues(sender.realm, sender.user, topic);
  std::erase_if(targets, [now](const std::shared_ptr<Queue>& each) { return !each->expected(now); });
  const bool claimed = !targets.empty();
  if (!claimed) {
    Result<std::shared_ptr<Queue>> unclaimed = queue({.realm = sender.realm,
                                                      .user = sender.user,
                                                      .kind = QueueId::Kind::kTopic,
                                                      .name = std::move(topic)});
    if (!unclaimed) co_return fail(unclaimed.error());
    targets.push_back(std::move(*unclaimed));
  }
  const Payload payload = Payload::of_text(json::write(data));  // what waits is kept as text alone
  const std::string id = ids_.next();
  std::vector<MessagePtr> messages;
  std::vector<store::RecordChange> changes;
  std::vector<std::shared_ptr<Queue>> takers;
  std::optional<Error> full;
  const auto give_back = [&] {
    for (size_t i = 0; i < messages.size(); ++i) takers[i]->give_back(messages[i]->bytes());
  };
  for (const std::shared_ptr<Queue>& target : targets) {
    const Policy& policy = target->policy();
    auto message = std::make_shared<Message>(
        Message{.id = id,
                .sender = nullptr,
                .data = payload,
                .created = now,
                .not_before = policy.delay.count() > 0 ? now + policy.delay.count() : 0,
                .group = policy.group_of(data, target->id().name).value_or(std::nullopt),
                .priority = policy.priority_of(data),
                .traceparent = traceparent,
                .baggage = baggage});
    if (const Result<> room = target->reserve(message->bytes()); !room) {
      full = room.error();
      if (claimed && !target->has_live_consumer()) continue;
      give_back();
      co_return fail(std::move(*full));
    }
    message->seq = ++last_seq_;
    changes.push_back(put_message(target->id(), *message));
    messages.push_back(std::move(message));
    takers.push_back(target);
  }
  if (messages.empty()) co_return fail(std::move(*full));
  Result<> written = store::check_records(changes);
  if (written) written = co_await shared_.journal.commit(std::move(changes));
  if (!written) {
    give_back();
    co_return written;
  }
  shared_.missed.add(targets.size() - takers.size());
  for (size_t i = 0; i < messages.size(); ++i) takers[i]->add(std::move(messages[i]));
  // Somebody may have subscribed meanwhile.
  if (!claimed) claim(targets.front()->id());
  co_return Result<>{};
}

}  // namespace chela::bus::queue
