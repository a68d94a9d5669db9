"""The workers of examples/workers, run as their README says, give an agent tools that the model then calls."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support import rust
from support.process import DIE_WITH_US, clean_environment
from support.scripts import call, tools_then
from support.waiting import wait_until

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "workers"


@pytest.fixture
def start(engine, tmp_path):
    """Runs a worker with a token that may only register functions."""
    token = engine.api.post("/api/tokens", json={"permissions": ["bus:register"]}).raise_for_status().json()["token"]
    url = f"ws://127.0.0.1:{engine.engine_file()['ports']['bus']}"
    children = []

    def new(command, folder):
        environment = clean_environment(HOME=tmp_path, III_URL=url, CHELA_TOKEN=token)
        with open(tmp_path / "worker.log", "ab") as log:
            children.append(subprocess.Popen(DIE_WITH_US + [str(each) for each in command], cwd=folder, env=environment,
                                             stdout=log, stderr=log))
        return children[-1]

    yield new
    for child in children:
        child.kill()
        child.wait()


def use(engine, chat, model, name, **arguments):
    """Lets the model call the tool; gives what it was told."""
    tools = lambda: {row["name"]: row for row in engine.api.get("/api/tools").json()["tools"]}  # noqa: E731
    assert wait_until(lambda: tools().get(name), f"the tool {name} is offered")["group"] == "bus"
    model.set_script(tools_then("there you are", call(name, **arguments)))
    assert chat.say("please")["state"] == "completed", "it runs without a question"
    return [each for each in model.bodies()[-1]["messages"] if each["role"] == "tool"][-1]["content"]


def test_typescript(engine, chat, model, start, tmp_path):
    folder = tmp_path / "typescript"
    shutil.copytree(EXAMPLES / "typescript", folder)
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "iii-sdk").symlink_to(Path(os.environ["CHELA_BUS_CLIENTS"]) / "node_modules" / "iii-sdk-0.22.1")
    start([os.environ.get("CHELA_NODE", "node"), "worker.ts"], folder)
    text = use(engine, chat, model, "dice", count=3, sides=2)
    assert '"sum"' in text and text.count("\n") > 3
    assert "/count" in use(engine, chat, model, "dice", count=1000)


def test_python(engine, chat, model, start):
    start([sys.executable, "worker.py"], EXAMPLES / "python")
    assert '"words": 3' in use(engine, chat, model, "word_count", text="one two\nthree")


@pytest.mark.timeout(900)
def test_rust(engine, chat, model, start, tmp_path):
    start([rust.build(EXAMPLES / "rust", "chela-example-primes")], tmp_path)
    text = use(engine, chat, model, "primes", number=391)
    assert "17" in text and "23" in text
