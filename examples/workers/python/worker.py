"""A worker that counts words for Chela's agents. III_URL is the bus, CHELA_TOKEN a token that allows bus:register."""

import os
import threading

from iii import InitOptions, register_worker

url = os.environ.get("III_URL", "ws://127.0.0.1:49134")
token = os.environ.get("CHELA_TOKEN", "")
worker = register_worker(url, InitOptions(worker_name="example-words", headers={"Authorization": f"Bearer {token}"}))


def word_count(data):
    text = data["text"]
    return {"words": len(text.split()), "lines": len(text.splitlines()), "characters": len(text)}


worker.register_function(
    "tool::word_count",
    word_count,
    description="Counts the words, lines and characters of a text exactly.",
    request_format={
        "type": "object",
        "properties": {"text": {"type": "string", "description": "the text to count"}},
        "required": ["text"],
        "additionalProperties": False,
    },
    metadata={"approval": "never"},
)

threading.Event().wait()  # until the process is stopped
