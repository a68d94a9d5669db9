"""The scripted model of testing/ as a process of its own (testing/README.md describes scripts)."""

import json
import signal
import tempfile
from pathlib import Path

import httpx

from support.process import BUILD, Process, clean_environment
from support.waiting import wait_until


class ScriptedModel:
    def __init__(self, script=None, build=BUILD, port=0):
        self._folder = tempfile.TemporaryDirectory(prefix="chela-model-")
        folder = Path(self._folder.name)
        self._process = Process([Path(build) / "bin" / "scripted-model", "--port", str(port)], clean_environment(),
                                folder / "out", folder / "err")
        try:
            line = wait_until(lambda: self._first_line(), "the scripted model starts")
            self.port = json.loads(line)["port"]
            self._http = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=30)
            if script is not None:
                self.set_script(script)
        except BaseException:
            self.stop()
            raise

    def _first_line(self):
        text = self._process.out.read_text()
        if not self._process.running():
            raise AssertionError("the scripted model ended: " + self._process.err.read_text())
        return text if text.endswith("\n") else None

    @property
    def base_url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    def set_script(self, script):
        """A new script from its beginning; earlier requests are forgotten."""
        answer = self._http.post("/_script", json=script)
        assert answer.status_code == 200, answer.text
        self.reset()

    def reset(self):
        assert self._http.post("/_reset").status_code == 200

    def requests(self, path="/v1/chat/completions"):
        """Requests to this path so far, each {path, headers, body}; path None gives all."""
        seen = self._http.get("/_requests").json()["requests"]
        return [each for each in seen if path is None or each["path"] == path]

    def bodies(self):
        """Bodies of the chat requests so far, as objects."""
        return [each["body"] for each in self.requests()]

    def stop(self):
        self._process.end(signal.SIGKILL)
        self._folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
