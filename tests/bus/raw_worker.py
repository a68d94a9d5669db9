"""A worker that is no SDK: speaks the protocol by hand, from a thread of its own, as fast as Python can."""

import itertools
import json
import threading

from support.waiting import DEADLINE
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect


class RawWorker:
    def __init__(self, port, token=""):
        self.peer = connect(f"ws://127.0.0.1:{port}/?token={token}", max_size=None, max_queue=None, compression=None)
        self._handlers, self._waiting, self._ids = {}, {}, itertools.count()
        self._lock = threading.Lock()  # of sending
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, **frame):
        with self._lock:
            self.peer.send(json.dumps(frame))

    def register(self, function_id, handler):
        self._handlers[function_id] = handler
        self.send(type="registerfunction", id=function_id)

    def trigger(self, ident, type, function_id, config):
        self.send(type="registertrigger", id=ident, trigger_type=type, function_id=function_id, config=config)

    def start(self, function_id, data, **more):
        """Calls; gives a function that waits for the answer, and fails when the connection ends."""
        ident, slot = str(next(self._ids)), {"done": threading.Event(), "answer": None}
        self._waiting[ident] = slot
        self.send(type="invokefunction", invocation_id=ident, function_id=function_id, data=data, **more)

        def wait():
            assert slot["done"].wait(DEADLINE), f"{function_id} does not answer"
            if slot["answer"] is None:
                raise ConnectionError("the connection ended")
            return slot["answer"]

        return wait

    def call(self, function_id, data=None, **more):
        answer = self.start(function_id, {} if data is None else data, **more)()
        assert "error" not in answer, answer
        return answer.get("result")

    def _read(self):
        try:
            for text in self.peer:
                frame = json.loads(text)
                if frame["type"] == "invocationresult":
                    slot = self._waiting.pop(frame["invocation_id"])
                    slot["answer"] = frame
                    slot["done"].set()
                elif frame["type"] == "invokefunction":
                    self._handlers[frame["function_id"]](frame["data"])
                    self.send(type="invocationresult", invocation_id=frame["invocation_id"],
                              function_id=frame["function_id"], result=True)
        except (ConnectionClosed, OSError):
            pass
        finally:
            for slot in list(self._waiting.values()):
                slot["done"].set()

    def close(self):
        self.peer.close()
        self._reader.join()
