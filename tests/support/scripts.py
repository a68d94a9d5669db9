"""Short ways to write scripts for the scripted model."""


def call(name, id=None, **arguments):
    """One tool call; arguments as an object."""
    return with_text(name, arguments, id)


def with_text(name, arguments, id=None):
    """One tool call whose arguments may be any text, malformed too."""
    made = {"name": name, "arguments": arguments}
    return made if id is None else {**made, "id": id}


def tools_then(text, *calls):
    """A script: the calls first, then the text once their results are there."""
    return {"rules": [{"when": {"last_role": "tool"}, "reply": {"text": text}},
                      {"when": {"last_role": "user"}, "reply": {"tool_calls": list(calls)}}]}


def slow(words, delay_ms=20):
    """A reply of so many words that comes one by one."""
    return {"text": " ".join(f"word{n}" for n in range(words)), "chunk_delay_ms": delay_ms}


HANG = {"text": "this never ends", "stall_after": 2}  # some text, then silence: the call runs until somebody ends it
