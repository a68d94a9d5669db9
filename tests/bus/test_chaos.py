"""Workers and clients that die, come and go by the thousand, never read or never answer: every call ends once, no message that was
acknowledged is lost, and nothing of them is left in the engine."""

import collections
import itertools
import os
import random
import socket
import threading

import httpx
import pytest
from support.limits import limit
from support.waiting import wait_until
from wire import BINARY, Gone, Wire

CONFIG = """
port: 0
modules:
  - class: modules::api::RestApiModule
    config: { host: 127.0.0.1, port: 0, default_timeout: 200 }
  - class: modules::state::StateModule
  - class: modules::stream::StreamModule
    config: { host: 127.0.0.1, port: 0 }
  - class: modules::queue::QueueModule
    config:
      adapter:
        class: modules::queue::BuiltinQueueAdapter
        config: { store_method: file_based, file_path: ./data/queue, max_attempts: 1000, backoff_ms: 1 }
      queue_configs:
        work: { max_retries: 1000, backoff_ms: 1, concurrency: 16 }
  - class: modules::pubsub::PubSubModule
  - class: modules::cron::CronModule
  - class: modules::kv_server::KvServer
  - class: modules::observability::OtelModule
    config: { exporter: memory }
"""
HISTORY = ("spans", "logs", "points")  # of the module observability: kept on purpose
WORKERS = 'chela_bus_entries{table="workers"}'
ALLOWANCE = 8  # MiB that memory may grow by and still count as flat: what an allocator keeps differs that much


@pytest.fixture
def bus(bus_engine):
    return bus_engine(CONFIG).start()


@pytest.fixture
def wire(bus):
    made = []

    def new(*args, port=None, **more):
        made.append(Wire(port or bus.ports["bus"], *args, **more))
        return made[-1]

    yield new
    for each in made:
        each.socket.close()


def entries(bus):
    """How much is in every table of the engine."""
    lines = httpx.get(f"http://127.0.0.1:{bus.ports['bus']}/metrics").raise_for_status().text.splitlines()
    rows = (line.rsplit(" ", 1) for line in lines if line.startswith(("chela_bus_entries", "chela_bus_module", "chela_bus_channels")))
    return {name: float(value) for name, value in rows if not any(f'"{each}"' in name for each in HISTORY)}


def nothing_left(bus, before):
    left = {}

    def same():
        left.clear()
        left.update({name: (before.get(name), value) for name, value in entries(bus).items() if value > before.get(name, 0)})
        return not left

    try:
        wait_until(same, "no table has more than before")
    except AssertionError as error:
        raise AssertionError(f"{error}; table: (before, now) = {left}") from None


def memory_mb(bus):
    for line in open(f"/proc/{bus.process.pid}/status"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("the engine has gone")


def descriptors(bus):
    return len(os.listdir(f"/proc/{bus.process.pid}/fd"))


class Crowd:
    """Threads that act until they are told to stop, each on connections of its own. What one of them raises fails the test."""

    def __init__(self, bus):
        self.port = bus.ports["bus"]
        self.stopping = False
        self._threads, self._wires, self._errors = [], [], []

    def connect(self):
        made = Wire(self.port)
        self._wires.append(made)
        if self.stopping:
            raise Gone
        return made

    def add(self, act, *args):
        def run():
            try:
                act(self, *args)
            except Gone:
                pass  # the engine was killed, or the test is over
            except Exception as error:  # handed to the test's own thread
                self._errors.append(error)

        self._threads.append(threading.Thread(target=run, daemon=True))
        self._threads[-1].start()
        return self._threads[-1]

    def join(self, threads=None):
        for each in threads or self._threads:
            each.join()
        if self._errors:
            raise self._errors[0]

    def stop(self):
        self.stopping = True
        for each in list(self._wires):
            try:
                each.socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has gone already
        self.join()


def die(worker, dice):
    """Orderly for the kernel, or with a reset; both without a word to the engine. What it did before has arrived."""
    if dice.random() < 0.5:
        worker.finish()
    else:
        worker.sync()
        worker.reset()


# --- workers that die in mid-call

ENDS = {"invocation_stopped", "function_not_found", "channel_send_failed", "unavailable"}  # of a call whose worker has gone


def serve_and_die(crowd, dice):
    """Answers in any order, and after some calls is gone, with half of what it has unanswered."""
    while True:
        worker = crowd.connect()
        worker.register("work")
        for left in reversed(range(dice.randrange(1, 50))):
            calls = [worker.until("invokefunction")[-1], *worker.sync()]
            dice.shuffle(calls)
            for each in calls if left else calls[1::2]:
                worker.answer(each, each["data"]["n"])
        die(worker, dice)


def call_and_check(crowd, dice, numbers, ended):
    """Calls, 16 at a time, and dies now and then. Each answer is the one to its call, and there is one."""
    for _ in range(60):
        caller, open_calls = crowd.connect(), {}
        for n in itertools.islice(numbers, 100):
            caller.invoke("work", {"n": n}, f"c{n}")
            open_calls[f"c{n}"] = n
            while len(open_calls) >= 16:
                take_answer(caller.next(), open_calls, ended)
        if dice.random() < 0.3:
            die(caller, dice)
            continue
        while open_calls:
            take_answer(caller.next(), open_calls, ended)
        assert caller.sync() == [], "an answer too many"
        caller.finish()


def take_answer(message, open_calls, ended):
    if message["type"] != "invocationresult":
        return
    n = open_calls.pop(message["invocation_id"])
    if "error" in message:
        assert message["error"]["code"] in ENDS, message
    else:
        assert message["result"] == n
    ended.append("error" in message)


def test_every_call_of_a_worker_that_dies_ends_once(bus):
    before, crowd, ended = entries(bus), Crowd(bus), []
    for seed in range(4):
        crowd.add(serve_and_die, random.Random(seed))
    numbers = itertools.count()
    crowd.join([crowd.add(call_and_check, random.Random(seed), numbers, ended) for seed in range(10, 13)])
    crowd.stop()
    assert ended.count(False) > 1000 and ended.count(True) > 10, "both happen"
    nothing_left(bus, before)
    assert bus.stop() == 0


# --- queues whose workers die, of an engine that is killed


def handle_and_die(crowd, dice, books, topic):
    while True:
        worker = crowd.connect()
        worker.register("handle")
        if topic:
            worker.trigger("t", "durable:subscriber", "handle", topic="orders")
        for _ in range(dice.randrange(1, 100)):
            message = worker.until("invokefunction")[-1]
            books.append(message["data"]["n"])
            worker.answer(message)
        worker.until("invokefunction")
        die(worker, dice)  # with one or more that are not in the books


def send_and_note(crowd, numbers, receipts, topic):
    sender = crowd.connect()
    while True:
        n = next(numbers)
        answer = sender.call("iii::durable::publish", {"topic": "orders", "data": {"n": n}}) if topic else \
            sender.call("handle", {"n": n}, action={"type": "enqueue", "queue": "work"})
        assert "error" not in answer, answer
        receipts.append(n)


def depth(wire, name):
    stats = wire.call("engine::queue::topic_stats", {"topic": name})["result"]
    assert stats["dlq_depth"] == 0
    return stats["depth"]


@pytest.mark.parametrize("topic", [False, True], ids=["named", "topic"])
def test_no_acknowledged_message_is_lost_or_doubled(bus, wire, topic):
    """While those who handle them die, one after the other, and then the engine is killed among them."""
    name = "orders" if topic else "work"
    first = wire()
    depth(first, name)  # and so the named queue is there
    first.finish()
    wait_until(lambda: entries(bus)[WORKERS] == 0, "it has gone")
    before, crowd, books, receipts, numbers = entries(bus), Crowd(bus), [], [], itertools.count()
    for seed in range(4):
        crowd.add(handle_and_die, random.Random(seed), books, topic)
        crowd.add(send_and_note, numbers, receipts, topic)
    wait_until(lambda: len(books) > 2000, "messages are handled")
    bus.kill9()
    crowd.join()
    handled = list(books)
    assert len(handled) == len(set(handled)), "doubled without a crash"

    bus.start()
    crowd, watcher = Crowd(bus), wire()
    for seed in range(10, 14):
        crowd.add(handle_and_die, random.Random(seed), books, topic)
    wait_until(lambda: depth(watcher, name) == 0, "the queue is empty")
    crowd.stop()
    assert set(receipts) <= set(books), sorted(set(receipts) - set(books))
    # Twice only what was at work, or done in the moment that a completion may wait for the disk.
    twice = {n for n, times in collections.Counter(books).items() if times > 1}
    assert twice <= set(handled[-200:]), twice
    if topic:  # a subscription outlives its connections; taking it back ends it
        watcher.trigger("t", "durable:subscriber", "handle", topic=name)
        watcher.send(type="unregistertrigger", id="t", trigger_type="durable:subscriber")
    watcher.sync()
    watcher.finish()
    nothing_left(bus, before)


# --- 10,000 connections


def visit(bus, number):
    """One connection of ten kinds, none of which says goodbye."""
    port, kind = bus.ports["bus"], number % 10
    if kind == 0:
        socket.create_connection(("127.0.0.1", port)).close()
    elif kind == 1:
        with socket.create_connection(("127.0.0.1", port)) as peer:
            peer.sendall(b"GET / HTTP/1.1\r\nUpgrade: webso")
    elif kind == 2:
        Wire(port).reset()
    elif kind == 3:
        with_name = Wire(port)
        with_name.invoke("engine::workers::register", {"name": f"visitor-{number}"})
        with_name.finish()
    elif kind == 4:
        registering = Wire(port)
        registering.register("v::one", "v::two", f"v::{number}")
        registering.send(type="registertriggertype", id=f"type-{number}", description="d")
        registering.trigger("t1", "http", "v::one", api_path=f"v/{number}")
        registering.trigger("t2", "subscribe", "v::one", topic=f"topic-{number}")
        registering.trigger("t3", "state", "v::one", scope=f"scope-{number}")
        registering.trigger("t4", "cron", "v::one", expression=f"0 0 {number % 24} * * *", timezone="Europe/Berlin")
        registering.trigger("t5", "stream", "v::one", stream_name=f"stream-{number}")
        registering.trigger("t6", "log", "v::one", level="error")
        registering.trigger("t7", "engine::workers-available", "v::one")
        registering.trigger("t8", f"type-{number}", "v::two", any="thing")
        registering.trigger("t9", "nobody-provides-this", "v::two")
        registering.sync()
        registering.reset()
    elif kind == 5:
        to_itself = Wire(port)
        to_itself.register("v::itself")
        to_itself.invoke("v::itself", {"n": number}, "x")
        to_itself.until("invokefunction")
        to_itself.reset()
    elif kind == 6:
        made = Wire(port)
        ends = made.call("engine::channels::create")["result"]
        reader = Wire(port, f"/ws/channels/{ends['reader']['channel_id']}?key={ends['reader']['access_key']}&dir=read")
        (reader if number % 20 == 6 else made).reset()
        (made if number % 20 == 6 else reader).reset()
    elif kind == 7:
        measuring = Wire(port, "/otel")
        measuring.frame(b'OTLP{"resourceSpans":[]}', BINARY)
        measuring.finish()
    elif kind == 8:
        stream = Wire(bus.ports["streams"])
        stream.send(type="join", data={"subscriptionId": "s", "streamName": "chat", "groupId": f"room-{number}"})
        stream.next()
        stream.reset()
    else:
        caller = Wire(port)
        caller.invoke("hangs", {"n": number}, "x")
        caller.reset()


def visit_all(bus, numbers):
    """By four at once."""
    crowd = Crowd(bus)
    for _ in range(4):
        crowd.add(lambda _: [visit(bus, number) for number in numbers])
    crowd.join()


def test_ten_thousand_connections_leave_nothing(bus, wire):
    before, numbers = entries(bus), iter(range(10_000))
    hangs = wire()
    hangs.register("hangs")
    hangs.sync()
    drain = threading.Thread(target=read_all, args=(hangs,), daemon=True)
    drain.start()
    visit_all(bus, itertools.islice(numbers, 3_000))
    wait_until(lambda: entries(bus)[WORKERS] == 1, "all but one have gone")
    memory, files = memory_mb(bus), descriptors(bus)
    visit_all(bus, numbers)
    hangs.socket.shutdown(socket.SHUT_RDWR)
    drain.join()
    nothing_left(bus, before)
    assert descriptors(bus) <= files
    assert memory_mb(bus) < memory + ALLOWANCE


def read_all(wire):
    try:
        while True:
            wire.next()
    except Gone:
        pass


# --- clients that never read

BLOCK = "x" * 100_000


def take_no_answers(bus, wire, works):
    """A caller: past the limit it is cut off, whether it looks or not."""
    stuck = wire(receive_buffer=4096)
    try:
        for number in range(2 * limit("kMaxUnsentBytes", "bus") // len(BLOCK)):
            stuck.invoke("echo", {"block": BLOCK}, f"c{number}")
            works()
        wait_until(lambda: stuck.invoke("echo"), "it is cut off")
    except Gone:
        return stuck


def take_no_messages(bus, wire, works):
    """A subscriber: what it does not take it misses."""
    stuck = wire(receive_buffer=4096)
    stuck.register("stuck::on")
    stuck.trigger("t", "subscribe", "stuck::on", topic="news")
    stuck.sync()
    publisher = wire()
    for _ in range(2 * limit("kMaxUnsentBytes", "bus") // len(BLOCK)):
        publisher.invoke("publish", {"topic": "news", "data": BLOCK})
        works()
    publisher.sync()
    publisher.finish()
    stuck.reset()
    return stuck


def take_no_stream(bus, wire, works):
    """The reader of a channel: its writer is held back until the channel goes with its worker."""
    owner = wire()
    ends = owner.call("engine::channels::create")["result"]
    path = "/ws/channels/{channel_id}?key={access_key}&dir=".format
    stuck = wire(path(**ends["reader"]) + "read", receive_buffer=4096)
    writer = wire(path(**ends["writer"]) + "write")
    writer.socket.settimeout(0.2)
    with pytest.raises(Gone):  # the kernels of both ends are full, too
        for _ in range(1000):
            writer.frame(BLOCK.encode(), BINARY)
    works()
    owner.finish()
    writer.socket.close()
    return stuck


@pytest.mark.parametrize("never_read", [take_no_answers, take_no_messages, take_no_stream])
def test_a_client_that_never_reads_is_nobodys_burden(bus, wire, never_read):
    """Others are served all the while, and the engine keeps nothing for one that has gone or was cut off, though it still holds its end."""
    before, other = entries(bus), wire()
    crowd = Crowd(bus)

    def echo(crowd):
        worker = crowd.connect()
        worker.register("echo")
        while True:
            message = worker.until("invokefunction")[-1]
            worker.answer(message, message["data"])

    crowd.add(echo)

    def works():
        assert other.call("state::set", {"scope": "s", "key": "k", "value": 1}).keys() >= {"result"}

    works()
    wait_until(lambda: "result" in other.call("echo"), "it is registered")
    memory, stuck = [], []
    for _ in range(2):  # each holds as much as a connection may
        stuck.append(never_read(bus, wire, works))
        wait_until(lambda: entries(bus)[WORKERS] == 2, "it has gone")
        memory.append(memory_mb(bus))
    assert memory[-1] < memory[0] + ALLOWANCE, memory
    crowd.stop()
    other.call("state::delete", {"scope": "s", "key": "k"})
    other.finish()
    nothing_left(bus, before)


# --- a worker that never answers


def test_calls_go_with_those_who_wait_for_them(bus, wire):
    """The worker that serves them never answers: callers leave, requests and calls over HTTP end, and nothing of them stays."""
    other = wire()
    other.sync()
    watched = entries(bus)
    silent, stays = wire(), wire()
    silent.register("silent")
    silent.trigger("t1", "http", "silent", api_path="silent")
    silent.sync()
    stays.invoke("silent", {}, "stays")
    stays.sync()
    callers = [wire() for _ in range(10)]
    for caller in callers:
        for n in range(50):
            caller.invoke("silent", {"n": n}, f"c{n}")
        caller.sync()
    assert entries(bus)['chela_bus_entries{table="calls"}'] == 501
    for number, caller in enumerate(callers):
        caller.finish() if number % 2 else caller.reset()
    assert httpx.get(f"http://127.0.0.1:{bus.ports['http']}/silent").status_code == 504
    with pytest.raises(httpx.TimeoutException):
        httpx.post(f"http://127.0.0.1:{bus.ports['bus']}/call", json={"function_id": "silent"}, timeout=0.2)
    wait_until(lambda: entries(bus)['chela_bus_entries{table="calls"}'] == 1, "only the one is left whose caller still waits")

    # Answers that come after all are nobody's, but for that one's.
    late = [each for each in silent.sync() if each["type"] == "invokefunction"]
    assert len(late) == 503
    for number, call in enumerate(late):
        silent.answer(call, number)
    silent.sync()
    answers = [each for each in stays.sync() if each["type"] == "invocationresult"]
    assert [(each["invocation_id"], each["result"]) for each in answers] == [("stays", 0)]
    for each in (silent, stays):
        each.finish()
    nothing_left(bus, watched)


def test_a_worker_that_never_answers_holds_nothing_up_for_good(bus, wire):
    """Whoever waits for it ends by a limit of his own; it can be given so many calls; with it all of them go."""
    other = wire()
    depth(other, "work")
    watched = entries(bus)
    silent = wire()
    silent.register("silent")
    silent.trigger("t1", "http", "silent", api_path="silent")
    silent.trigger("t2", "subscribe", "silent", topic="news")
    silent.trigger("t3", "cron", "silent", expression="* * * * * *")
    silent.sync()
    crowd = Crowd(bus)
    crowd.add(lambda _: read_all(silent))

    assert httpx.get(f"http://127.0.0.1:{bus.ports['http']}/silent").status_code == 504
    other.invoke("publish", {"topic": "news", "data": {"n": 1}})
    receipt = other.call("silent", {"n": 2}, action={"type": "enqueue", "queue": "work"})
    assert "messageReceiptId" in receipt["result"]
    most = limit("kMaxCallsServed", "bus")
    for n in range(most):
        other.invoke("silent", {"n": n}, f"s{n}")
    refused = other.sync()
    assert refused and {each["error"]["code"] for each in refused} == {"unavailable"}
    given_up = 1  # the request's, which has left the table and still is its worker's
    assert entries(bus)['chela_bus_entries{table="calls"}'] == most - given_up
    assert "result" in other.call("engine::workers::list"), "others are served"

    silent.socket.shutdown(socket.SHUT_RDWR)
    stopped = [other.until("invocationresult")[-1]["error"]["code"] for _ in range(most - len(refused))]
    assert set(stopped) == {"invocation_stopped"}
    assert other.sync() == []
    crowd.join()

    # The message was not lost: one who answers gets it.
    second = wire()
    second.register("silent")
    message = second.until("invokefunction")[-1]
    assert message["data"] == {"n": 2}
    second.answer(message)
    wait_until(lambda: depth(other, "work") == 0, "it is handled")
    second.finish()
    nothing_left(bus, watched)
