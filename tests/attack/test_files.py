"""A model that wants out of the workspace: paths, links and special files."""

import os

import pytest

from support.scripts import call, tools_then

SECRET = "the secret outside"


@pytest.fixture(scope="module")
def engine_env():
    return {"CHELA_AGENT_AUTO_APPROVE_TOOLS": "true", "CHELA_TOOLS_TIMEOUT": "5s"}


@pytest.fixture(scope="module")
def workspace(engine, tmp_path_factory):
    folder = engine.home / "workspace" / "default"
    folder.mkdir(parents=True, exist_ok=True)
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.txt").write_text(SECRET)
    (engine.home / "secret.txt").write_text(SECRET)
    (folder / "to_file").symlink_to(outside / "secret.txt")
    (folder / "to_folder").symlink_to(outside)
    (folder / "to_parent").symlink_to("../..")
    (folder / "to_root").symlink_to("/")
    (folder / "chain").symlink_to("to_folder")
    (folder / "loop").symlink_to("loop")
    (folder / "dangling").symlink_to(outside / "new.txt")
    os.mkfifo(folder / "pipe")
    return folder, outside


def result(chat, model, *calls):
    model.set_script(tools_then("done", *calls))
    assert chat.say("go")["state"] == "completed"
    return [each["content"] for each in model.bodies()[-1]["messages"] if each["role"] == "tool"][-len(calls):]


def escapes(workspace, engine):
    _, outside = workspace
    return [str(outside / "secret.txt"), "../../secret.txt", "../default/../../secret.txt", "to_file", "to_folder/secret.txt", "to_parent/secret.txt",
            f"to_root{outside}/secret.txt", "chain/secret.txt", "./to_folder/./secret.txt", "a/../to_folder/secret.txt", "~/secret.txt",
            "/proc/self/environ", "/proc/self/cwd/secret.txt", "file:///etc/passwd", "..\\..\\secret.txt", "....//....//secret.txt",
            str(engine.home / "gateway.token"), "../../gateway.token", "../../chela.db"]


def test_nothing_outside_is_read(engine, chat, model, workspace):
    for path in escapes(workspace, engine):
        text = result(chat, model, call("read_file", path=path))[0]
        assert SECRET not in text and engine.token not in text and "root:" not in text and "SQLite" not in text, path
        assert chat.last()["tool_calls"][0]["has_error"], path


def test_nothing_outside_is_written(engine, chat, model, workspace):
    folder, outside = workspace
    targets = ["../escaped.txt", "../../escaped.txt", str(outside / "escaped.txt"), "to_folder/escaped.txt", "chain/escaped.txt",
               f"to_root{outside}/escaped.txt", "to_parent/escaped.txt", "dangling", "to_file", "to_folder/new/deep/escaped.txt"]
    for path in targets:
        result(chat, model, call("write_file", path=path, content="I was here"))
        assert chat.last()["tool_calls"][0]["has_error"], path
    assert sorted(each.name for each in outside.iterdir()) == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == SECRET
    assert not (engine.home / "escaped.txt").exists() and not (engine.home / "workspace/escaped.txt").exists()


def test_nothing_outside_is_listed(engine, chat, model, workspace):
    for path in ("..", "../..", "/", "/etc", "to_folder", "to_root", "to_parent", "chain"):
        text = result(chat, model, call("list_dir", path=path, recursive=True))[0]
        assert "secret.txt" not in text and "passwd" not in text and "chela.db" not in text, path
    # Links are shown for what they are, and not followed.
    assert "secret.txt" not in result(chat, model, call("list_dir", recursive=True, max_depth=10))[0]


@pytest.mark.parametrize("path", ["loop", "pipe", "loop/x", ".", "", "x" * 5000, "a/" * 2000, "nul\0byte", "new\nline"])
def test_odd_paths_are_errors_and_nothing_hangs(chat, model, workspace, path):
    result(chat, model, call("read_file", path=path))
    assert chat.last()["tool_calls"][0]["has_error"]


def test_a_device_is_no_file(chat, model, workspace):
    for path in ("/dev/zero", "to_root/dev/zero", "/dev/stdin", "/dev/tty"):
        result(chat, model, call("read_file", path=path), call("write_file", path=path, content="x"))
        assert all(each["has_error"] for each in chat.last()["tool_calls"])


@pytest.mark.parametrize("name", ["SOUL.md", "soul.md", "./AGENTS.md", "sub/../IDENTITY.md", "USER.md"])
def test_what_steers_the_agent_is_not_the_agents_to_write(chat, model, workspace, name):
    folder, _ = workspace
    (folder / "sub").mkdir(exist_ok=True)
    result(chat, model, call("write_file", path=name, content="obey me"))
    assert chat.last()["tool_calls"][0]["has_error"]
    assert not (folder / os.path.basename(name)).exists()


def test_memory_paths_lead_nowhere_else(engine, chat, model, workspace):
    results = result(chat, model, call("memory_read", path="../../secret.txt"), call("memory_read", path="/etc/passwd"),
                     call("memory_write", target="../escape.md", content="x"), call("memory_read", path="chela.db"))
    assert all(SECRET not in each and "root:" not in each for each in results)
    assert not (engine.home / "workspace/escape.md").exists()
