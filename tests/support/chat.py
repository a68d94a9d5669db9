"""The chat API in a test's words."""

from support.waiting import wait_until

SETTLED = ("awaiting_approval", "awaiting_client", "completed", "failed", "interrupted")


class Chat:
    """One thread of an engine, made when it is first needed."""

    def __init__(self, engine, client=None, new=True):
        self.engine = engine
        self._client = client
        self.thread = self.api.post("/api/chat/thread/new", json={}).raise_for_status().json()["id"] if new else None

    @property
    def api(self):
        return self._client or self.engine.api

    def send(self, content, **more):
        """Hands a message over; gives the answer's body, after a 202."""
        body = {"content": content, **more}
        if self.thread is not None:
            body.setdefault("thread_id", self.thread)
        answer = self.api.post("/api/chat/send", json=body)
        assert answer.status_code == 202, answer.text
        return answer.json()

    def wait(self, turn_id):
        """How the turn stands when it has ended or needs an answer."""
        answer = self.api.get("/api/chat/wait", params={"turn_id": turn_id})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def say(self, content, **more):
        """Sends and waits."""
        return self.wait(self.send(content, **more)["turn_id"])

    def history(self, **params):
        if self.thread is not None:
            params.setdefault("thread_id", self.thread)
        answer = self.api.get("/api/chat/history", params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def turns(self):
        return self.history()["turns"]

    def last(self):
        return self.turns()[-1]

    def decide(self, request_id, action):
        return self.api.post("/api/chat/approval", json={"request_id": request_id, "action": action})

    def interrupt(self):
        return self.api.post("/api/chat/interrupt", json={"thread_id": self.thread})

    def wait_for_state(self, *states):
        """The last turn, once its state is one of these."""
        return wait_until(lambda: next((turn for turn in self.turns()[-1:] if turn["state"] in states), None),
                          f"the turn becomes {' or '.join(states)}")

    def log(self):
        return self.api.get(f"/api/threads/{self.thread}/log").raise_for_status().json()["records"]
