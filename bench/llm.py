"""What stands between a client and a model: latency that /v1 adds to a model asked directly, time per streamed chunk, memory, decisions of the budget.

A load goes in turns to the scripted model itself and to it through the engine, in rounds, so that both meet the same machine; what the engine adds is
the difference of the medians over all rounds, and of the p99. Load generator, engine and model share the machine's processors.
Prints one JSON object. Usage: llm.py [--seconds N] [--rounds N] [--rates 0,1000,5000] [--dir DIR]
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
from contextlib import contextmanager

from _engine import BIN, TOKEN, cpu_seconds, engine, resident_mb

CHUNKS = 200
WORD = "word "  # a chunk each
PATH = "/v1/chat/completions"
CONNECTIONS = 256  # as many as are needed, at most


def body(**more):
    messages = [{"role": "system", "content": "You are a helpful assistant. " * 10},
                {"role": "user", "content": "Tell me in a few words that all is right with the world."}]
    # The model looks for the stream as it is written.
    return json.dumps({"model": "instant", "messages": messages, "temperature": 0.5, "max_tokens": 200, **more}, separators=(",", ":"))


@contextmanager
def scripted_model(**script):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"instant": True, **script}, file)
        file.flush()
        process = subprocess.Popen([BIN / "scripted-model", "--port", "0", "--script", file.name], stdout=subprocess.PIPE, text=True)
        try:
            yield json.loads(process.stdout.readline())["port"]
        finally:
            process.terminate()
            process.wait()


def load(port, rate, seconds, text):
    command = [BIN / "bench__http_rate", "--port", str(port), "--path", PATH, "--token", TOKEN, "--rate", str(rate),
               "--seconds", str(seconds), "--connections", str(CONNECTIONS), "--body", text]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def middle(rounds, name):
    return statistics.median(each["latency"][name] for each in rounds)


def latency(pid, ports, rate, options):
    """Of each round direct, then through the engine; the medians of the rounds."""
    rounds = {"direct": [], "through": []}
    cpu = count = 0
    for _ in range(options.rounds):
        rounds["direct"].append(load(ports["direct"], rate, options.seconds, body()))
        before = cpu_seconds(pid)
        rounds["through"].append(load(ports["through"], rate, options.seconds, body()))
        cpu += cpu_seconds(pid) - before
        count += rounds["through"][-1]["latency"]["count"]
    figures = {"rate": rate or "one after the other", "requests": count, "cpu_us_per_request": round(cpu * 1e6 / count, 1)}
    for name in ("p50_ms", "p99_ms"):
        direct, through = (middle(rounds[each], name) for each in ("direct", "through"))
        figures[name] = {"direct": round(direct, 3), "through": round(through, 3), "added": round(through - direct, 3),
                         "added_in_the_best_round": round(min(t["latency"][name] - d["latency"][name]
                                                              for d, t in zip(rounds["direct"], rounds["through"])), 3)}
    figures["answered_per_second"] = round(statistics.median(each["per_second"] for each in rounds["through"]))
    return figures


def streams(pid, ports, options):
    """Streams of many chunks, one stream after the other: what one more chunk takes, on the clock and of the engine's processor time."""
    text = body(stream=True)
    rounds = {"direct": [], "through": []}
    cpu = events = 0
    for _ in range(options.rounds):
        rounds["direct"].append(load(ports["direct"], 0, options.seconds, text))
        before = cpu_seconds(pid)
        rounds["through"].append(load(ports["through"], 0, options.seconds, text))
        cpu += cpu_seconds(pid) - before
        events += rounds["through"][-1]["events"]
    direct, through = (middle(rounds[each], "p50_ms") for each in ("direct", "through"))
    return {"chunks": CHUNKS, "direct_ms": round(direct, 3), "through_ms": round(through, 3),
            "added_us_per_chunk": round((through - direct) * 1000 / CHUNKS, 2), "cpu_us_per_chunk": round(cpu * 1e6 / events, 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2, help="of each load")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rates", default="0,1000,5000")
    parser.add_argument("--dir", default=".", help="a folder on the disk to measure")
    options = parser.parse_args()
    result = {"benchmark": "llm", "processors": len(os.sched_getaffinity(0))}
    with tempfile.TemporaryDirectory(dir=options.dir, prefix="chela-bench-") as folder:
        home = pathlib.Path(folder) / "home"
        with scripted_model() as direct:
            settings = {"LLM_BACKEND": "openai_compatible", "LLM_BASE_URL": f"http://127.0.0.1:{direct}/v1", "LLM_MODEL": "instant"}
            with engine(home, **settings) as (process, state, _):
                ports = {"direct": direct, "through": state["ports"]["gateway"]}
                result["pass_through"] = [latency(process.pid, ports, int(rate), options) for rate in options.rates.split(",")]
                result["resident_after_load_mb"] = resident_mb(process.pid)
        with scripted_model(default={"text": WORD * CHUNKS, "chunk_bytes": len(WORD)}) as direct:
            settings["LLM_BASE_URL"] = f"http://127.0.0.1:{direct}/v1"
            with engine(home, **settings) as (process, state, _):
                ports = {"direct": direct, "through": state["ports"]["gateway"]}
                result["streams"] = streams(process.pid, ports, options)
                result["resident_after_streams_mb"] = resident_mb(process.pid)
    budget = subprocess.run([BIN / "bench__budget", "--seconds", str(options.seconds)], check=True, capture_output=True, text=True)
    result.update(json.loads(budget.stdout))
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
