"""Queues, durable topics and pub/sub with workers of the published SDKs, and what survives when somebody is killed."""

import itertools
import threading

import pytest
from raw_worker import RawWorker
from support.waiting import wait_until
from websockets.exceptions import ConnectionClosed
from workers import PYTHON, SDKS, SdkError

CONFIG = """
port: ${BUS_PORT:0}
modules:
  - class: modules::pubsub::PubSubModule
  - class: modules::queue::QueueModule
    config:
      adapter:
        class: modules::queue::BuiltinQueueAdapter
        config: { store_method: file_based, file_path: ./data/queue, max_attempts: 2, backoff_ms: 20 }
      queue_configs:
        default: { max_retries: 3, backoff_ms: 20, concurrency: 5 }
        once: { max_retries: 1 }
        sequential: { concurrency: 1 }
        payment: { type: fifo, message_group_field: transaction_id, concurrency: 2 }
"""
ENQUEUERS = [sdk for sdk in SDKS if sdk != "0.3.0"]  # the action came with 0.9
NODE_ENQUEUERS = [sdk for sdk in ENQUEUERS if sdk != PYTHON]


@pytest.fixture
def bus(bus_engine):
    return bus_engine(CONFIG).start()


@pytest.fixture
def worker(bus, join):
    return lambda sdk="0.22.1": join(sdk, port=bus.ports["bus"], token="")


@pytest.fixture
def raw(bus):
    made = []

    def new():
        made.append(RawWorker(bus.ports["bus"]))
        return made[-1]

    yield new
    for each in made:
        each.close()


def stats(worker, topic):
    return worker.call("engine::queue::topic_stats", {"topic": topic})


def seen(worker, function_id, count):
    wait_until(lambda: len(worker.do("seen", function_id=function_id)) >= count, f"{function_id} is called {count} times")
    return worker.do("seen", function_id=function_id)


def reborn(engine):
    """Killed and started again on the same port, so that workers come back by themselves."""
    engine.env["BUS_PORT"] = str(engine.ports["bus"])
    engine.kill9()
    return engine.start()


@pytest.mark.parametrize("sdk", ENQUEUERS)
def test_enqueued_calls_reach_workers_of_every_sdk(worker, sdk):
    sender, consumers = worker(sdk), {each: worker(each) for each in SDKS}
    for name, each in consumers.items():
        each.register(f"{name}::on")
        receipt = sender.do("enqueue", function_id=f"{name}::on", payload={"order": "pizza"}, queue="default")
        assert isinstance(receipt["messageReceiptId"], str)
    for name, each in consumers.items():
        assert seen(each, f"{name}::on", 1) == [{"order": "pizza"}]


@pytest.mark.parametrize("sdk", ENQUEUERS)
def test_what_no_queue_takes_is_an_enqueue_error(worker, sdk):
    sender = worker(sdk)
    for queue, words in (("nope", "Queue 'nope' not found"), ("payment", "requires field 'transaction_id'")):
        with pytest.raises(SdkError, match=words) as raised:
            sender.do("enqueue", function_id="f", payload={"a": 1}, queue=queue)
        assert raised.value.code in ("enqueue_error", None) or "enqueue_error" in str(raised.value)


@pytest.mark.parametrize("publisher", SDKS)
def test_every_subscriber_of_a_topic_gets_every_message_by_both_names(worker, publisher):
    """0.3.0 knows the trigger type queue and the function enqueue, later ones durable:subscriber and iii::durable::publish."""
    subscribers = {sdk: worker(sdk) for sdk in SDKS}
    for sdk, each in subscribers.items():
        each.register(f"{sdk}::on")
        each.do("trigger", key="t", type="queue" if sdk == "0.3.0" else "durable:subscriber", function_id=f"{sdk}::on",
                config={"topic": "orders"})
        each.call("engine::queue::list_topics")  # and so it is registered
    sender = worker(publisher)
    for n in range(3):
        function = "enqueue" if publisher == "0.3.0" else "iii::durable::publish"
        assert sender.call(function, {"topic": "orders", "data": {"n": n}}) is None
    for sdk, each in subscribers.items():
        assert sorted(data["n"] for data in seen(each, f"{sdk}::on", 3)) == [0, 1, 2]
        assert all(data.keys() == {"n"} for data in each.do("seen", function_id=f"{sdk}::on"))


@pytest.mark.parametrize("sdk", NODE_ENQUEUERS)
def test_a_condition_keeps_messages_from_a_subscriber(worker, sdk):
    subscriber = worker(sdk)
    subscriber.register("if::odd", "odd")
    subscriber.register("on::odd")
    subscriber.do("trigger", key="t", type="durable:subscriber", function_id="on::odd",
                  config={"topic": "numbers", "condition_function_id": "if::odd"})
    subscriber.call("engine::queue::list_topics")  # and so it is registered
    for n in range(6):
        subscriber.call("iii::durable::publish", {"topic": "numbers", "data": {"n": n}})
    seen(subscriber, "if::odd", 6)
    assert sorted(data["n"] for data in seen(subscriber, "on::odd", 3)) == [1, 3, 5]
    wait_until(lambda: stats(subscriber, "numbers")["depth"] == 0, "what is let pass by is done with")
    assert len(subscriber.do("seen", function_id="on::odd")) == 3


@pytest.mark.parametrize("sdk", NODE_ENQUEUERS)
def test_a_job_hands_on_to_the_next(worker, sdk):
    first, second = worker(sdk), worker("0.22.1")
    first.register("chain::first", "hand_on")
    second.register("chain::second", "hand_on")
    first.register("chain::last")
    first.do("enqueue", function_id="chain::first", payload={"order": 7, "chain": ["chain::second", "chain::last"]}, queue="default")
    assert seen(first, "chain::last", 1) == [{"order": 7, "chain": []}]
    assert seen(second, "chain::second", 1) == [{"order": 7, "chain": ["chain::last"]}]


@pytest.mark.parametrize("publisher", SDKS)
def test_pubsub_reaches_every_subscriber_at_once(worker, publisher):
    subscribers = {sdk: worker(sdk) for sdk in SDKS}
    for sdk, each in subscribers.items():
        each.register(f"{sdk}::on")
        each.do("trigger", key="t", type="subscribe", function_id=f"{sdk}::on", config={"topic": "news"})
        each.call("engine::workers::list")
    sender = worker(publisher)
    assert sender.call("publish", {"topic": "news", "data": {"n": 1}}) is None
    for sdk, each in subscribers.items():
        assert seen(each, f"{sdk}::on", 1) == [{"n": 1}]


def test_order_is_kept_where_it_is_promised(worker):
    consumer, sender = worker(), worker("0.11.6")
    for function in ("one", "groups"):
        consumer.register(function)
    for n in range(20):
        sender.do("enqueue", function_id="one", payload={"n": n}, queue="sequential")
        sender.do("enqueue", function_id="groups", payload={"transaction_id": "ab"[n % 2], "n": n}, queue="payment")
    assert [data["n"] for data in seen(consumer, "one", 20)] == list(range(20))
    groups = seen(consumer, "groups", 20)
    for name in "ab":
        order = [data["n"] for data in groups if data["transaction_id"] == name]
        assert order == sorted(order) and len(order) == 10


def test_what_fails_is_tried_again_and_then_dead_until_somebody_decides(worker):
    a = worker()
    a.register("second", kind="second_time")
    a.register("never", kind="fail")
    a.do("enqueue", function_id="second", payload={"n": 1}, queue="default")
    seen(a, "second", 2)
    receipt = a.do("enqueue", function_id="never", payload={"n": 2}, queue="default")["messageReceiptId"]
    wait_until(lambda: stats(a, "default")["dlq_depth"] == 1, "the message is dead")
    [row] = a.call("engine::queue::dlq_messages", {"topic": "default"})
    assert (row["id"], row["payload"], row["retries"]) == (receipt, {"n": 2}, 3) and "this one fails" in row["error"]
    assert a.call("iii::queue::redrive", {"queue": "default"}) == {"queue": "default", "redriven": 1}
    seen(a, "never", 6)
    wait_until(lambda: stats(a, "default")["dlq_depth"] == 1, "it is dead again")
    a.call("iii::queue::discard_message", {"queue": "default", "message_id": receipt})
    assert a.call("engine::queue::dlq_topics") == []


def test_a_worker_killed_in_mid_job_hands_it_to_the_next(worker):
    first, sender = worker("0.22.1"), worker("0.9.0")
    first.register("job", kind="hang")
    sender.do("enqueue", function_id="job", payload={"n": 1}, queue="default")
    seen(first, "job", 1)
    first.kill()
    second = worker(PYTHON)
    second.register("job")
    assert seen(second, "job", 1) == [{"n": 1}]
    wait_until(lambda: stats(sender, "default")["depth"] == 0, "it is done")


def test_a_killed_engine_goes_on_with_what_it_had(bus, worker):
    consumer, sender = worker(), worker("0.11.6")
    consumer.register("hang", kind="hang")
    consumer.register("broken", kind="fail")
    sender.do("enqueue", function_id="hang", payload={"n": 1}, queue="default")
    sender.do("enqueue", function_id="later", payload={"n": 2}, queue="default")
    sender.do("enqueue", function_id="broken", payload={"n": 3}, queue="once")
    sender.call("iii::durable::publish", {"topic": "nobody", "data": {"n": 4}})
    seen(consumer, "hang", 1)
    wait_until(lambda: stats(sender, "once")["dlq_depth"] == 1, "the message is dead")
    reborn(bus)
    seen(consumer, "hang", 2)  # its end was never recorded
    consumer.register("later")
    assert seen(consumer, "later", 1) == [{"n": 2}]
    consumer.do("trigger", key="t", type="durable:subscriber", function_id="later", config={"topic": "nobody"})
    assert seen(consumer, "later", 2)[1] == {"n": 4}
    # Written a moment after it happened: a kill right then may have been earlier.
    wait_until(lambda: stats(sender, "once")["dlq_depth"] == 1, "the dead one is still there")


@pytest.mark.parametrize("round", range(3))
def test_kills_in_mid_queue_lose_no_message_that_was_acknowledged(bus, raw, round):
    """Messages in 16 at a time while the engine is killed; the books of the consumer hold every one that got a receipt."""
    handled, lock = [], threading.Lock()

    def handle(data):
        with lock:
            handled.append(data["n"])

    consumer, sender = raw(), raw()
    consumer.register("work", handle)
    receipts, numbers, action = [], itertools.count(), {"type": "enqueue", "queue": "default"}

    def send():
        try:
            while True:
                n = next(numbers)
                answer = sender.start("work", {"n": n}, action=action)()
                assert "error" not in answer, answer
                receipts.append(n)
        except (ConnectionError, ConnectionClosed):
            pass

    threads = [threading.Thread(target=send) for _ in range(16)]
    for each in threads:
        each.start()
    wait_until(lambda: len(handled) > 500 * (round + 1), "messages are handled")
    bus.kill9()
    for each in threads:
        each.join()
    consumer.close()  # what it had received before the kill is in its books now
    before = list(handled)
    assert len(before) == len(set(before)), "doubled without a crash"
    bus.start()
    consumer = raw()
    consumer.register("work", handle)
    wait_until(lambda: stats_raw(consumer)["depth"] == 0, "the queue is empty")
    assert set(receipts) <= set(handled), sorted(set(receipts) - set(handled))
    # Twice only what was at work, or done in the moment that a completion may wait for the disk.
    assert set(before) & set(handled[len(before):]) <= set(before[-200:])
    # And nothing of it a second time after its end was recorded, which it is with the receipt of one more message at the latest.
    last = next(numbers)
    raw().start("work", {"n": last}, action=action)()
    wait_until(lambda: last in handled, "the last message is handled")
    once_more = len(handled)
    bus.kill9()
    bus.start()
    consumer = raw()
    consumer.register("work", handle)
    wait_until(lambda: stats_raw(consumer)["depth"] == 0, "the queue is empty again")
    assert stats_raw(consumer)["dlq_depth"] == 0
    assert set(handled[once_more:]) <= {last}


def stats_raw(peer):
    return peer.call("engine::queue::topic_stats", {"topic": "default"})
