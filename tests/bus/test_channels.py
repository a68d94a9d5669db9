"""Data channels: streams between workers beside the calls, on the bus's own port."""

import contextlib
import hashlib
import json
import threading

import httpx
import pytest
from support.limits import limit
from support.waiting import DEADLINE, wait_until
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

MESSAGE = 64 * 1024


@pytest.fixture
def port(engine):
    return engine.engine_file()["ports"]["bus"]


class Ends:
    """Opens connections that the test's end closes."""

    def __init__(self, engine, port, stack):
        self.engine, self.port, self.stack = engine, port, stack

    def worker(self):
        return self.stack.enter_context(connect(f"ws://127.0.0.1:{self.port}/?token={self.engine.token}", max_size=None))

    def create(self, worker, **data):
        worker.send(json.dumps({"type": "invokefunction", "invocation_id": "c", "function_id": "engine::channels::create", "data": data}))
        while (frame := json.loads(worker.recv(timeout=DEADLINE)))["type"] != "invocationresult":
            pass
        return frame["result"]

    def open(self, ref, direction=None, key=None):
        query = f"key={ref['access_key'] if key is None else key}&dir={direction or ref['direction']}"
        return self.stack.enter_context(connect(f"ws://127.0.0.1:{self.port}/ws/channels/{ref['channel_id']}?{query}", max_size=None))


@pytest.fixture
def ends(engine, port):
    with contextlib.ExitStack() as stack:
        yield Ends(engine, port, stack)


def read_all(reader):
    """Everything up to the end, and the code that the connection was closed with."""
    got = []
    with contextlib.suppress(ConnectionClosed):
        while True:
            got.append(reader.recv(timeout=DEADLINE))
    return got, reader.close_code


@pytest.mark.parametrize("reader_sdk", ["0.9.0", "0.11.6", "0.22.1"])
@pytest.mark.parametrize("writer_sdk", ["0.9.0", "0.11.6", "0.22.1"])
def test_workers_stream_to_each_other(join, reader_sdk, writer_sdk):
    """Their address carries the token in its query, which they put in front of the channel's path."""
    reader, writer = join(reader_sdk), join(writer_sdk)
    reader.register("collect::all", "collect")
    wait_until(lambda: "collect::all" in writer.functions(), "it is registered")
    done = writer.do("stream_to", function_id="collect::all", bytes=3_000_000)
    assert done["answer"] == {**done["sent"], "messages": ["begin"]}


def test_what_was_written_before_the_reader_came_is_kept(ends):
    made = ends.create(ends.worker())
    writer = ends.open(made["writer"])
    for message in ("text", b"one", b"", b"two"):
        writer.send(message)
    writer.close()
    assert read_all(ends.open(made["reader"])) == (["text", b"one", b"", b"two"], 1000)


def peak_mb(engine):
    for line in open(f"/proc/{engine.pid}/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("the engine has gone")


def test_a_writer_is_held_back_until_its_reader_reads(engine, ends):
    made = ends.create(ends.worker())
    writer, before, total, sent = ends.open(made["writer"]), peak_mb(engine), 128, hashlib.sha256()
    progress = []

    def send():
        for number in range(total * 1024 * 1024 // MESSAGE):
            block = bytes([number % 251]) * MESSAGE
            writer.send(block)
            sent.update(block)
            progress.append(number)
        writer.close()

    sending = threading.Thread(target=send, daemon=True)
    sending.start()
    wait_until(lambda: len(progress) > 16, "it writes before there is a reader")
    got, code = read_all(ends.open(made["reader"]))
    sending.join()
    assert code == 1000 and hashlib.sha256(b"".join(got)).hexdigest() == sent.hexdigest()
    assert peak_mb(engine) < before + 16


def test_all_of_it_arrives_in_order_when_the_reader_is_slow(ends):
    made = ends.create(ends.worker(), buffer_size=1)
    writer, reader = ends.open(made["writer"]), ends.open(made["reader"])
    for number in range(200):
        writer.send(f"{number}")
        assert reader.recv(timeout=DEADLINE) == f"{number}"
    writer.close()
    assert read_all(reader) == ([], 1000)


@pytest.mark.parametrize("change", [{"key": "wrong"}, {"key": ""}, {"direction": "write"}])
def test_a_wrong_key_opens_nothing(ends, change):
    made = ends.create(ends.worker())
    with pytest.raises(InvalidStatus) as caught:
        ends.open(made["reader"], **change)
    assert caught.value.response.status_code == 404
    assert json.loads(caught.value.response.body)["error"]["message"] == "Channel not found"


def test_an_unknown_channel_or_direction_is_refused(ends, port):
    made = ends.create(ends.worker())
    for path, status in (("/ws/channels/none?key=x&dir=read", 404), ("/ws/channels/", 400),
                         (f"/ws/channels/{made['reader']['channel_id']}?key={made['reader']['access_key']}&dir=both", 400),
                         (f"/ws/channels/{made['reader']['channel_id']}?key={made['reader']['access_key']}&dir=read", 400)):
        assert httpx.get(f"http://127.0.0.1:{port}{path}").status_code == status  # the last one is no handshake


def test_a_second_taker_is_let_in_and_closed(ends):
    made = ends.create(ends.worker())
    for direction in ("reader", "writer"):
        ends.open(made[direction])
        assert read_all(ends.open(made[direction])) == ([], 1008)


def test_the_writer_hears_that_the_reader_has_gone(ends):
    made = ends.create(ends.worker())
    writer, reader = ends.open(made["writer"]), ends.open(made["reader"])
    reader.close()
    assert read_all(writer)[1] == 1001


def test_a_reader_is_not_told_that_a_stream_is_complete_which_was_cut(ends):
    made = ends.create(ends.worker())
    writer, reader = ends.open(made["writer"]), ends.open(made["reader"])
    writer.send(b"half")
    assert reader.recv(timeout=DEADLINE) == b"half"
    writer.socket.close()
    assert read_all(reader) == ([], 1011)


def test_channels_go_with_their_worker(ends):
    worker = ends.worker()
    made, unused = ends.create(worker), ends.create(worker)
    writer, reader = ends.open(made["writer"]), ends.open(made["reader"])
    worker.close()
    assert read_all(writer)[1] == 1001
    assert read_all(reader)[1] == 1011
    with pytest.raises(InvalidStatus):
        ends.open(unused["reader"])


def test_a_message_past_the_limit_ends_the_channel(ends):
    made = ends.create(ends.worker())
    writer, reader = ends.open(made["writer"]), ends.open(made["reader"])
    with contextlib.suppress(ConnectionClosed):
        writer.send(b"x" * (limit("kMaxMessageBytes", "bus/channels") + 1))
    assert read_all(writer)[1] == 1009
    assert read_all(reader)[1] == 1011
