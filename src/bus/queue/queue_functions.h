#pragma once

#include "bus/bus.h"
#include "bus/queue/queues.h"

namespace chela::bus::queue {

inline constexpr std::string_view kQueueFunctions[] = {"enqueue",
                                                       "iii::durable::publish",
                                                       "iii::queue::redrive",
                                                       "iii::queue::redrive_message",
                                                       "iii::queue::discard_message",
                                                       "engine::queue::enqueue",
                                                       "engine::queue::list_topics",
                                                       "engine::queue::topic_stats",
                                                       "engine::queue::dlq_topics",
                                                       "engine::queue::dlq_messages"};

// enqueue and iii::durable::publish (one thing), iii::queue::{redrive, redrive_message, discard_message}, engine::queue::{enqueue,
// list_topics, topic_stats, dlq_topics, dlq_messages}. Each sees its caller's own queues only. kConflict when an id is taken.
Result<> add_queue_functions(Bus& bus, Queues& queues);

}  // namespace chela::bus::queue
