"""The bus, measured by its raw protocol on `chela engine`: invocations worker -> engine -> worker, HTTP requests through a trigger, calls of
the engine's modules, messages to subscribers and through durable queues, start, memory, what observability costs; and the same
request/reply load on `nats-server` when it is installed.

Prints one JSON object: rate, latency and the engine's CPU time an operation, beside the goal (docs/benchmarks.md; iii's own are in `iii`).
An answer that is lost ends the run with an error.
Usage: bus.py [--seconds N] [--only NAME[,NAME...]]
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import tempfile
import time

from _engine import BIN, TOKEN, cpu_seconds, environment, resident_mb, started

# (concurrency, bytes): goal, and what iii needs, in microseconds of CPU time a call
INVOKE = {(1, 64): (40, "32-68"), (16, 64): (6, "13-20"), (256, 64): (3, "9-12"),
          (1, 4096): (None, "261-344"), (16, 4096): (15, "215-324"), (256, 4096): (None, "275-390"),
          (1, 65536): (None, "3400-3600"), (16, 65536): (120, "3400-4300"), (256, 65536): (None, "4400-4700")}
HTTP = {(1, 64): (None, "61-95"), (16, 64): (20, "39-51"), (256, 64): (None, "61-72")}
# function and data ($ the number of the call, @ records of 64 bytes), at 16 calls under way; goal, iii
STATE = {"set": ("state::set", '{"scope":"bench","key":"k$","value":@}', 5, "12-17"),
         "get": ("state::get", '{"scope":"bench","key":"k$"}', 4, "7-10")}
# kind, subscribers, messages under way; goal. A queued message counts when it is handled; one at a time it waits for the disk once.
DELIVERIES = [("pubsub", 10, 1, {}), ("pubsub", 10, 16, {"goal_cpu_us": 2.5, "iii_cpu_us": "5.5-14"}),
              ("queue", 1, 1, {"goal": "one fdatasync + 1 ms"}), ("queue", 1, 16, {"goal_per_second": 10000, "iii_per_second": 155}),
              ("queue", 1, 256, {}), ("topic", 1, 1, {"goal": "one fdatasync + 1 ms"}),
              ("topic", 1, 16, {"goal_per_second": 10000, "iii_per_second": "107-115"}), ("topic", 1, 256, {})]
STARTS = 9
IDLE_WORKERS = 1000

# Every module of the engine, durable ones in files below the folder. State in memory where the disk is not the point.
MODULES = """
port: 0
modules:
  - class: modules::api::RestApiModule
    config: { port: 0 }
  - class: modules::pubsub::PubSubModule
  - class: modules::state::StateModule
    config:
      adapter: { class: "modules::state::adapters::KvStore", config: { store_method: STATE_STORE, file_path: state } }
  - class: modules::stream::StreamModule
    config:
      port: 0
      adapter: { class: "modules::stream::adapters::KvStore", config: { store_method: file_based, file_path: streams } }
  - class: modules::queue::QueueModule
    config:
      adapter: { class: "modules::queue::BuiltinQueueAdapter", config: { store_method: file_based, file_path: queue } }
      queue_configs: { default: { concurrency: 256 } }
  - class: modules::cron::CronModule
    config:
      adapter: { class: "modules::cron::KvCronAdapter" }
"""
OBSERVED = """
  - class: modules::observability::OtelModule
    config: { enabled: true, exporter: memory, logs_console_output: false }
"""


class Engine:
    """`chela engine` in a folder of its own on the disk we were started on: /tmp may be memory."""

    def __init__(self, process, ports, seconds, folder):
        self.process, self.ports, self.seconds, self.folder = process, ports, seconds, folder
        self.pid = process.pid

    def load(self, concurrency, size, *more, driver="bench__bus_load"):
        return driven(self.pid, [BIN / driver, "--port", str(self.ports["bus"]), "--token", TOKEN, *more], concurrency, size, self.seconds)


@contextlib.contextmanager
def running(seconds, more="", state="in_memory"):
    with tempfile.TemporaryDirectory(prefix="chela-bench-", dir=".") as name:
        folder = pathlib.Path(name).resolve()
        config, announced = folder / "config.yaml", folder / "announced.json"
        text = MODULES.replace("STATE_STORE", state)
        for each in ("state", "streams", "queue"):
            text = text.replace(f"file_path: {each} ", f"file_path: {folder}/{each} ")
        config.write_text(text + more)
        with started(["engine", "--config", config, "--announce", announced], announced, environment(folder)) as (process, said, took):
            engine = Engine(process, said["ports"], seconds, folder)
            engine.took = took
            yield engine


def driven(pid, command, concurrency, size, seconds):
    before = cpu_seconds(pid)
    done = subprocess.run([*command, "--concurrency", str(concurrency), "--bytes", str(size), "--seconds", str(seconds)],
                          check=True, stdout=subprocess.PIPE, text=True)
    result = json.loads(done.stdout)
    return {"concurrency": concurrency, "bytes": size, "per_second": round(result["per_second"]),
            "p50_us": round(1000 * result["latency"]["p50_ms"]), "p99_us": round(1000 * result["latency"]["p99_ms"]),
            "cpu_us": round(1e6 * (cpu_seconds(pid) - before) / result["calls"], 2)}


def beside(row, goal, iii):
    return row | ({} if goal is None else {"goal_cpu_us": goal}) | {"iii_cpu_us": iii}


def invoke(seconds):
    """And what the load leaves in memory: the small one first, on an engine that has done nothing else."""
    with running(seconds) as engine:
        time.sleep(1)
        memory = {"idle_mb": resident_mb(engine.pid)}
        rows = []
        for size in (64, 4096, 65536):
            rows += [beside(engine.load(*case, size), *INVOKE[(*case, size)]) for case in ((1,), (16,), (256,))]
            if size == 64:
                memory |= {"after_64_b_mb": resident_mb(engine.pid), "goal_after_64_b_mb": 16}
        time.sleep(1)
        memory |= {"after_64_kib_mb": resident_mb(engine.pid), "goal_after_64_kib_mb": 32}
        return {"rows": rows, "memory": memory}


def http(seconds):
    with running(seconds) as engine:
        more = ("--http", str(engine.ports["http"]))
        return [beside(engine.load(*case, *more, driver="bench__bus_http"), *about) for case, about in HTTP.items()]


def state(seconds):
    rows = {}
    for store in ("in_memory", "file_based"):
        with running(seconds, state=store) as engine:
            rows[store] = {name: beside(engine.load(16, 64, "--function", function, "--data", data), goal if store == "in_memory" else None, iii)
                           for name, (function, data, goal, iii) in STATE.items()}
    return rows


def deliveries(seconds):
    with running(seconds) as engine:
        rows = []
        for kind, subscribers, concurrency, about in DELIVERIES:
            row = engine.load(concurrency, 64, "--kind", kind, "--subscribers", str(subscribers), driver="bench__bus_delivery")
            rows.append({"kind": kind, "subscribers": subscribers, **row, **about})
        return {"fdatasync_ms": fdatasync_ms(engine.folder), "rows": rows}


def fdatasync_ms(folder, rounds=200):
    """How long this disk takes for a 4 KiB write: what a message waits for at least."""
    file = os.open(folder / "probe", os.O_CREAT | os.O_WRONLY)
    began = time.perf_counter()
    for n in range(rounds):
        os.pwrite(file, b"x" * 4096, n * 4096)
        os.fdatasync(file)
    took = time.perf_counter() - began
    os.close(file)
    return round(1000 * took / rounds, 3)


def observability(seconds):
    """Spans, logs and measures kept in memory: what they add to an operation."""
    rows = {}
    for name, more in (("off", ""), ("on", OBSERVED)):
        with running(seconds, more) as engine:
            rows[name] = [engine.load(16, 64), engine.load(256, 64),
                          engine.load(16, 64, "--http", str(engine.ports["http"]), driver="bench__bus_http")]
    for off, on in zip(rows["off"], rows["on"]):
        on["added_cpu_us"] = round(on["cpu_us"] - off["cpu_us"], 2)
    return rows


def start(seconds):
    """From the start of the process until its ports are open, the first time and with files that are there."""
    del seconds
    taken = []
    for _ in range(STARTS):
        with running(0) as engine:
            taken.append(1000 * engine.took)
    return {"median_ms": round(statistics.median(taken), 1), "best_ms": round(min(taken), 1), "worst_ms": round(max(taken), 1), "goal_ms": 5}


def idle(seconds):
    """Workers that have registered a function and do nothing."""
    del seconds
    with running(0) as engine:
        time.sleep(1)
        alone = resident_mb(engine.pid)
        workers = [worker(engine.ports["bus"], n) for n in range(IDLE_WORKERS)]
        time.sleep(1)
        crowded = resident_mb(engine.pid)
        for each in workers:
            each.close()
        time.sleep(1)
        return {"idle_mb": alone, "goal_idle_mb": 8, "workers": IDLE_WORKERS, "with_workers_mb": crowded,
                "kb_a_worker": round(1024 * (crowded - alone) / IDLE_WORKERS, 2), "after_they_left_mb": resident_mb(engine.pid)}


def worker(port, number):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(f"GET /?token={TOKEN} HTTP/1.1\r\nHost: bench\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                       "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode())
    said = b""
    while b"workerregistered" not in said:
        part = connection.recv(4096)
        if not part:
            raise SystemExit("bus.py: the engine refused a worker")
        said += part
    text = json.dumps({"type": "registerfunction", "id": f"bench::idle{number}"}).encode()
    connection.sendall(bytes([0x81, 0x80 | len(text)]) + bytes(4) + text)
    return connection


def nats(seconds):
    program = shutil.which("nats-server", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if not program:
        return "nats-server is not installed"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([program, "-a", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until_open(port)
        memory = resident_mb(process.pid)
        rows = [driven(process.pid, [BIN / "bench__nats_load", "--port", str(port)], *case, seconds) for case in INVOKE]
        version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.strip()
        return {"version": version, "rows": rows, "idle_mb": memory, "after_load_mb": resident_mb(process.pid)}
    finally:
        process.terminate()
        process.wait()


def until_open(port):
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.01)
    raise SystemExit("bus.py: nats-server did not start")


PARTS = {each.__name__: each for each in (invoke, http, state, deliveries, observability, start, idle, nats)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--only", default=",".join(PARTS), help="some of " + ", ".join(PARTS))
    options = parser.parse_args()
    wanted = options.only.split(",")
    if unknown := set(wanted) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    result = {"benchmark": "bus"} | {name: PARTS[name](options.seconds) for name in wanted}
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
