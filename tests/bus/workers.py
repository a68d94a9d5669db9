"""Workers made with the published SDKs, each a program of its own that a test tells what to do."""

import itertools
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

from support import rust
from support.process import DIE_WITH_US, clean_environment
from support.waiting import DEADLINE

HERE = Path(__file__).resolve().parent
VERSIONS = ("0.3.0", "0.9.0", "0.11.6", "0.22.1")  # of npm's iii-sdk
PYTHON = "python"
SDKS = (*VERSIONS, PYTHON)
RUST = "rust"  # knows echo, nested and call only


class SdkError(Exception):
    """What the SDK raised."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.code = error["code"]


class Worker:
    """One connection made by an SDK. Many commands may be under way at once."""

    def __init__(self, sdk, port, token, name, folder):
        self.sdk, self.name = sdk, name
        url = f"ws://127.0.0.1:{port}"
        if sdk == RUST:
            command = [rust.build(HERE / "rust_worker", "chela-test-worker"), url, name, token]
        elif sdk == PYTHON:
            command = [sys.executable, HERE / "python_worker.py", url, name, token]
        else:
            command = [os.environ.get("CHELA_NODE", "node"), HERE / "node_worker.mjs", os.environ["CHELA_BUS_CLIENTS"], sdk,
                       f"{url}?token={token}", name]
        self._errors = open(Path(folder) / f"{name}.err", "ab")
        self.child = subprocess.Popen(DIE_WITH_US + [str(each) for each in command], env=clean_environment(HOME=folder),
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True)
        self._ids = itertools.count()
        self._waiting = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.child.stdout:
            answer = json.loads(line)
            slot = self._waiting.pop(answer["id"])
            slot["answer"] = answer
            slot["done"].set()

    def start(self, what, **arguments):
        """Gives a function that waits for the answer."""
        ident, slot = next(self._ids), {"done": threading.Event()}
        self._waiting[ident] = slot
        self.child.stdin.write(json.dumps({"id": ident, "do": what, **arguments}) + "\n")
        self.child.stdin.flush()

        def wait():
            assert slot["done"].wait(DEADLINE), f"{self.name} does not answer {what}"
            if "error" in slot["answer"]:
                raise SdkError(slot["answer"]["error"])
            return slot["answer"]["value"]

        return wait

    def do(self, what, **arguments):
        return self.start(what, **arguments)()

    def register(self, function_id, kind="echo", **more):
        self.do("register", function_id=function_id, kind=kind, **more)

    def call(self, function_id, payload=None, **more):
        return self.do("call", function_id=function_id, payload={} if payload is None else payload, **more)

    def functions(self):
        """Ids of all functions that it can see, by their descriptions."""
        return {row["function_id"]: row.get("description") for row in self.call("engine::functions::list")["functions"]}

    def kill(self):
        self.child.kill()
        self.child.wait()
        self._errors.close()

    def close(self):
        if self.child.poll() is None:
            self.kill()
