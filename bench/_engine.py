"""An engine that benchmarks drive, and what it takes of the machine."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

BIN = pathlib.Path(os.environ.get("CHELA_BUILD", "build/release")).resolve() / "bin"
TOKEN = "bench-token"


def resident_mb(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return round(int(line.split()[1]) / 1024, 1)
    return None


def cpu_seconds(pid):
    """Processor time of the process so far, in user code and in the kernel: hardly depends on what else the machine does."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def environment(home, **settings):
    """Ours without what configures an engine, and with what this one needs."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CHELA_", "LLM_", "OPENAI_", "GATEWAY_"))}
    return env | {"CHELA_HOME": str(home), "CHELA_GATEWAY_PORT": "0", "CHELA_BUS_PORT": "0", "CHELA_BUS_HTTP_PORT": "0", "CHELA_BUS_STREAM_PORT": "0", "GATEWAY_AUTH_TOKEN": TOKEN} | settings


@contextmanager
def started(arguments, announced, env):
    """chela with these arguments, until it is left: its process, what it announced in that file, and the seconds until then."""
    announced = pathlib.Path(announced)
    announced.unlink(missing_ok=True)
    began = time.perf_counter()
    process = subprocess.Popen([BIN / "chela", *arguments], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not announced.exists():
            if process.poll() is not None or time.perf_counter() - began > 30:
                raise SystemExit(f"{pathlib.Path(sys.argv[0]).name}: chela did not start; run it by hand to see why")
            time.sleep(0.0005)
        yield process, json.loads(announced.read_text()), time.perf_counter() - began
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=20)


def engine(home, **settings):
    return started(["run", "--headless"], pathlib.Path(home) / "run" / "engine.json", environment(home, **settings))
