"""The real program against an instant scripted model: durable turns over HTTP, start to ready, memory, size of the binary.

Prints one JSON object. Beside the figures of the engine stands the disk's own fdatasync, which every durable turn waits for.
Usage: gateway.py [--seconds N] [--dir DIR]
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

BIN = pathlib.Path(os.environ.get("CHELA_BUILD", "build/release")).resolve() / "bin"


def resident_mb(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return round(int(line.split()[1]) / 1024, 1)
    return None


def start_engine(home, model_port):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CHELA_", "LLM_", "OPENAI_", "GATEWAY_"))}
    env |= {
        "CHELA_HOME": str(home),
        "LLM_BACKEND": "openai_compatible",
        "LLM_BASE_URL": f"http://127.0.0.1:{model_port}/v1",
        "LLM_MODEL": "instant",
        "GATEWAY_PORT": "0",
        "GATEWAY_AUTH_TOKEN": "bench-token",
    }
    state = home / "run" / "engine.json"
    state.unlink(missing_ok=True)
    began = time.perf_counter()
    process = subprocess.Popen([BIN / "chela", "run", "--headless"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not state.exists():
        if process.poll() is not None or time.perf_counter() - began > 30:
            raise SystemExit("gateway.py: chela did not start; run it by hand to see why")
        time.sleep(0.0005)
    ready = time.perf_counter() - began
    return process, json.loads(state.read_text()), ready


def stop(process):
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=20)


def load(port, concurrency, seconds):
    body = json.dumps({"model": "chela", "messages": [{"role": "user", "content": "Tell me that all is right."}]})
    command = [BIN / "bench__http_load", "--port", str(port), "--path", "/v1/chat/completions", "--token", "bench-token",
               "--concurrency", str(concurrency), "--seconds", str(seconds), "--body", body]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


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
            starts = []
            for _ in range(6):
                process, state, ready = start_engine(home, model_port)
                starts.append(round(ready * 1000, 1))
                memory = resident_mb(process.pid)
                stop(process)
            result["start_to_ready_ms"] = {"first": starts[0], "median": sorted(starts[1:])[2], "worst": max(starts)}
            result["resident_at_ready_mb"] = memory
            process, state, _ = start_engine(home, model_port)
            try:
                result["turns"] = [load(state["ports"]["gateway"], c, options.seconds) for c in (1, 32, 100)]
                result["resident_after_load_mb"] = resident_mb(process.pid)
                load(state["ports"]["gateway"], 32, options.seconds * 3)
                result["resident_after_more_load_mb"] = resident_mb(process.pid)
            finally:
                stop(process)
            result["stripped_size_mb"] = round(stripped_size(BIN / "chela") / 1e6, 2)
    finally:
        model.terminate()
        model.wait()
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
