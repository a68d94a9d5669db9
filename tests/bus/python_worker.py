"""One worker made with the Python SDK: python_worker.py URL NAME TOKEN. Speaks the lines of node_worker.mjs."""

import asyncio
import hashlib
import json
import math
import os
import re
import sys
import threading

from iii import InitOptions, TriggerAction, register_worker
from iii.iii_constants import ReconnectionConfig

url, name, token = sys.argv[1:]
out = os.fdopen(os.dup(1), "w")
sys.stdout = sys.stderr  # what the SDK prints
client = register_worker(url, InitOptions(
    worker_name=name, headers={"Authorization": f"Bearer {token}"},
    reconnection_config=ReconnectionConfig(initial_delay_ms=20, max_delay_ms=20, backoff_multiplier=1, jitter_factor=0)))
seen, functions, triggers = {}, {}, {}
lock = threading.Lock()


def fail(_):
    raise RuntimeError("this one fails")


async def call(function_id, payload, timeout=None):
    request = {"function_id": function_id, "payload": payload}
    return await client.trigger_async(request | ({"timeout_ms": timeout} if timeout else {}))


async def hang(_):
    await asyncio.Event().wait()


async def nested(data):
    return {"from": name, "inner": await call(data["next"], data.get("data"))}


def page(data):
    return {"status_code": 201, "headers": {"X-From": name},
            "body": {"path": data["path_params"], "query": data["query_params"], "body": data["body"]}}


def vector(text):
    """In the direction of the angle that stands in it, "at 90" say; without one where questions lie."""
    found = re.search(r"at (\d+)", text)
    angle = math.radians(int(found[1]) if found else 0)
    return [math.cos(angle), math.sin(angle)]


def embed(data):
    """As the worker of AgentOS that provides embedding::generate."""
    if "batch" in data:
        return {"embeddings": [vector(each) for each in data["batch"]], "dim": 2}
    return {"embedding": vector(data["text"]), "dim": 2}


async def measure(data):
    """Takes a body as it comes, and what was said beside it."""
    digest, size, told = hashlib.sha256(), 0, []
    data["request_body"].on_message(lambda text: told.append(json.loads(text)["error"]["code"]))
    async for piece in data["request_body"]:
        digest.update(piece)
        size += len(piece)
    report = {"bytes": size, "sha256": digest.hexdigest(), "told": told}
    seen.setdefault("reports", []).append(report)
    return {"body": report}


async def relay(data):
    """Answers with what comes while it comes."""
    response = data["response"]
    headers = {"content-type": data["headers"]["content-type"]}
    await response.send_message_async(json.dumps({"type": "set_headers", "headers": headers}))
    async for piece in data["request_body"]:
        await response.write(piece)
    await response.close_async()


KINDS = {"echo": lambda data: {"from": name, "data": data}, "fail": fail, "hang": hang, "nested": nested, "nothing": lambda data: None,
         "recall": lambda data: [{"content": f"recalled by {name}: {data['query']}"}], "complete": lambda _: {"content": f"answered by {name}"},
         "page": page, "embed": embed, "measure": measure, "relay": relay, "ignore": lambda _: {"body": "ignored"}}


def register(function_id, kind, metadata=None, request_format=None):
    async def handler(data):
        seen.setdefault(function_id, []).append(data)
        value = KINDS[kind](data)
        return await value if asyncio.iscoroutine(value) else value

    functions[function_id] = client.register_function(function_id, handler, description=f"{kind} of {name}", metadata=metadata,
                                                  request_format=request_format)


def add_trigger(key, type, function_id, config):
    triggers[key] = client.register_trigger({"type": type, "function_id": function_id, "config": config})


def trigger(function_id, payload, **more):
    return client.trigger({"function_id": function_id, "payload": payload, **more})


COMMANDS = {
    "register": register,
    "unregister": lambda function_id: functions[function_id].unregister(),
    "call": lambda function_id, payload, timeout=None: trigger(function_id, payload, **({"timeout_ms": timeout} if timeout else {})),
    "void": lambda function_id, payload: trigger(function_id, payload, action=TriggerAction.Void()),
    "enqueue": lambda function_id, payload, queue: trigger(function_id, payload, action=TriggerAction.Enqueue(queue=queue)),
    "seen": lambda function_id: seen.get(function_id, []),
    "trigger": add_trigger,
    "end_trigger": lambda key: triggers[key].unregister(),
    "shutdown": client.shutdown,
}


def run(line):
    command = json.loads(line)
    ident, what = command.pop("id"), command.pop("do")
    try:
        value = COMMANDS[what](**command)
        answer = {"id": ident, "value": value if isinstance(value, (dict, list, str, int, float, bool)) else None}
    except Exception as error:  # what the SDK raises is the answer
        answer = {"id": ident, "error": {"message": str(error), "code": getattr(error, "code", None)}}
    with lock:
        print(json.dumps(answer), file=out, flush=True)


for each in sys.stdin:
    threading.Thread(target=run, args=(each,), daemon=True).start()
os._exit(0)
