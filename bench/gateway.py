"""The real program against an instant scripted model: durable turns over HTTP, start to ready, memory, size of the binary.

Prints one JSON object. Beside the figures of the engine stands the disk's own fdatasync, which every durable turn waits for.
Usage: gateway.py [--seconds N] [--dir DIR]
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile

from _engine import BIN, TOKEN, cpu_seconds, engine, resident_mb


def load(process, port, concurrency, seconds):
    body = json.dumps({"model": "chela", "messages": [{"role": "user", "content": "Tell me that all is right."}]})
    command = [BIN / "bench__http_load", "--port", str(port), "--path", "/v1/chat/completions", "--token", TOKEN,
               "--concurrency", str(concurrency), "--seconds", str(seconds), "--body", body]
    before = cpu_seconds(process.pid)
    figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    figures["cpu_ms_per_turn"] = round((cpu_seconds(process.pid) - before) * 1000 / max(1, figures["latency"]["count"]), 3)
    return figures


def stripped_size(path):
    with tempfile.NamedTemporaryFile() as copy:
        subprocess.run(["strip", "-o", copy.name, path], check=True)
        return os.path.getsize(copy.name)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--dir", default=".", help="a folder on the disk to measure")
    options = parser.parse_args()
    script = tempfile.NamedTemporaryFile("w", suffix=".json")
    json.dump({"instant": True}, script)
    script.flush()
    model = subprocess.Popen([BIN / "scripted-model", "--port", "0", "--script", script.name], stdout=subprocess.PIPE, text=True)
    model_port = json.loads(model.stdout.readline())["port"]
    result = {"benchmark": "gateway"}
    try:
        with tempfile.TemporaryDirectory(dir=options.dir, prefix="chela-bench-") as folder:
            home = pathlib.Path(folder) / "home"
            settings = {"LLM_BACKEND": "openai_compatible", "LLM_BASE_URL": f"http://127.0.0.1:{model_port}/v1", "LLM_MODEL": "instant"}
            starts = []
            for _ in range(6):
                with engine(home, **settings) as (process, _, ready):
                    starts.append(round(ready * 1000, 1))
                    memory = resident_mb(process.pid)
            result["start_to_ready_ms"] = {"first": starts[0], "median": sorted(starts[1:])[2], "worst": max(starts)}
            result["resident_at_ready_mb"] = memory
            with engine(home, **settings) as (process, state, _):
                result["turns"] = [load(process, state["ports"]["gateway"], c, options.seconds) for c in (1, 32, 100)]
                result["resident_after_load_mb"] = resident_mb(process.pid)
                load(process, state["ports"]["gateway"], 32, options.seconds * 3)
                result["resident_after_more_load_mb"] = resident_mb(process.pid)
            result["stripped_size_mb"] = round(stripped_size(BIN / "chela") / 1e6, 2)
    finally:
        model.terminate()
        model.wait()
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
