"""The scripts of `chela completion` in the real shells."""

import subprocess

import pytest

from support import Chat
from support.tmux import Tmux


@pytest.fixture
def environment(own_engine):
    env = own_engine.environment()
    return {**env, "PATH": f"{own_engine.program.parent}:{env['PATH']}"}


def complete_bash(environment, line):
    words = line.split(" ")
    script = f"""source <(chela completion bash)
COMP_WORDS=({' '.join(repr(word) for word in words)}); COMP_CWORD={len(words) - 1}; _chela
printf '%s\\n' "${{COMPREPLY[@]}}"; complete -p chela >/dev/null"""
    return [each for each in run(["bash", "--norc", "-c", script], environment) if each]


def complete_fish(environment, line):
    script = f"chela completion fish | source; complete -C {line!r}"
    return [each.split("\t")[0] for each in run(["fish", "--no-config", "-c", script], environment)]


def run(command, environment):
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout.split("\n")[:-1]


SHELLS = pytest.mark.parametrize("complete", [complete_bash, complete_fish], ids=["bash", "fish"])


@SHELLS
def test_commands_options_and_choices(environment, complete):
    assert complete(environment, "chela thr") == ["threads"]
    assert set(complete(environment, "chela memory ")) == {"tree", "read", "write", "search"}
    assert "--thread" in complete(environment, "chela chat --")
    assert set(complete(environment, "chela completion ")) == {"bash", "fish", "zsh"}
    assert "gateway.port" in complete(environment, "chela config gateway.")


@SHELLS
def test_agents_and_threads(environment, complete, own_engine, model):
    (own_engine.home / "agents/writer").mkdir(parents=True)
    (own_engine.home / "agents/writer/agent.toml").write_text('[agent]\nname = "writer"\ndescription = "writes"\n')
    assert set(complete(environment, "chela chat --agent ")) == {"writer", "default"}
    assert complete(environment, "chela log ") == []
    own_engine.start()
    chat = Chat(own_engine)
    chat.say("about kites")
    assert chat.thread in complete(environment, "chela log ")
    assert "latest" in complete(environment, "chela chat --thread ")


@SHELLS
def test_folders(environment, complete, own_engine):
    folder = own_engine.home / "workspace-of-tests"
    folder.mkdir()
    found = complete(environment, f"chela log --home {own_engine.home}/workspace-of")
    assert [each.rstrip("/") for each in found] == [str(folder)]


def test_zsh_completes_at_its_prompt(environment):
    with Tmux(["zsh", "-f"], environment) as terminal:
        terminal.wait_for(lambda screen: screen.strip())
        terminal.say("PS1='ready '")
        terminal.wait_for("\nready")
        terminal.say("autoload -Uz compinit; compinit -D; source <(chela completion zsh)")
        terminal.type("chela thr")
        terminal.press("Tab")
        terminal.wait_for("ready chela threads")
        terminal.type("--sea")
        terminal.press("Tab")
        terminal.wait_for("chela threads --search")
        terminal.press("C-u")
        terminal.type("chela completion ")
        terminal.press("Tab")
        screen = terminal.wait_for("fish")
        assert "bash" in screen and "zsh" in screen


def test_an_unknown_shell_is_wrong_usage(own_engine):
    code, out, err = own_engine.cli("completion", "tcsh")
    assert (code, out) == (2, "") and err.startswith("chela: ")


def test_completion_needs_no_sound_configuration(own_engine):
    (own_engine.home / "config.toml").write_text("this is wrong")
    assert own_engine.cli("__complete", "thr")[:2] == (0, "threads\tyour threads, the most recently used first\n")
    assert own_engine.cli("__complete", "chat", "--agent", "")[:2] == (0, "")
