"""A worker that speaks the protocol by hand: its functions are Python's, its frames can be looked at."""

import contextlib
import itertools
import json
import threading

from support.waiting import DEADLINE, wait_until
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect


class CallFailed(Exception):
    def __init__(self, error):
        super().__init__(error["message"])
        self.code = error["code"]


class Peer:
    """One connection. `functions` maps ids to what is called with the data; each call runs in a thread of its own."""

    def __init__(self, url, functions=None, name="peer"):
        self._open = contextlib.ExitStack()
        self.socket = self._open.enter_context(connect(url, max_size=None))
        self.functions, self.frames = {}, []
        self._ids, self._answers, self._lock = itertools.count(), {}, threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()
        self.introduced = self.call("engine::workers::register", {"name": name, "version": "0.22.1"})
        for function_id, handler in (functions or {}).items():
            self.provide(function_id, handler)

    def send(self, **frame):
        with self._lock:
            self.socket.send(json.dumps(frame))

    def _read(self):
        try:
            for text in self.socket:
                frame = json.loads(text)
                self.frames.append(frame)
                if frame["type"] == "invokefunction":
                    threading.Thread(target=self._serve, args=(frame,), daemon=True).start()
                elif frame["type"] == "invocationresult":
                    self._answers.setdefault(frame["invocation_id"], threading.Event()).frame = frame
                    self._answers[frame["invocation_id"]].set()
        except ConnectionClosed:
            pass

    def _serve(self, frame):
        answer = {"type": "invocationresult", "invocation_id": frame["invocation_id"], "function_id": frame["function_id"]}
        try:
            answer["result"] = self.functions[frame["function_id"]](frame["data"])
        except Exception as error:  # what a handler raises is its answer
            answer["error"] = {"code": "invocation_failed", "message": str(error)}
        try:
            self.send(**answer)
        except ConnectionClosed:
            pass

    def provide(self, function_id, handler, **more):
        self.functions[function_id] = handler
        self.send(type="registerfunction", id=function_id, **more)

    def call(self, function_id, data=None, **more):
        ident = f"call-{next(self._ids)}"
        done = self._answers.setdefault(ident, threading.Event())
        self.send(type="invokefunction", invocation_id=ident, function_id=function_id, data=data or {}, **more)
        assert done.wait(DEADLINE), f"nobody answers {function_id}"
        if "error" in done.frame:
            raise CallFailed(done.frame["error"])
        return done.frame.get("result")

    def ids(self):
        return {row["function_id"] for row in self.call("engine::functions::list")["functions"]}

    def wait_for(self, function_id):
        wait_until(lambda: function_id in self.ids(), f"{function_id} is registered")

    def of_type(self, kind):
        return [frame for frame in list(self.frames) if frame["type"] == kind]

    def close(self):
        self._open.close()
