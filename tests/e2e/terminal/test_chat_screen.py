"""The chat on a real terminal: what is shown, and what keys do."""

import os
import re
import signal
import stat

from support.scripts import HANG, call, tools_then, with_text
from support.waiting import wait_until

MARKDOWN = """# A title

Some **strong** words, `code` and a line that is long enough to be wrapped at the end of the screen.

- first
- second

```python
print("a line of code that is much wider than a screen of forty columns can show at once")
```

| name | size |
|---|---:|
| one | 1 |
"""


def child_of(terminal):
    """The process id of chela in the terminal."""
    shell = terminal.pane_pid()
    children = f"/proc/{shell}/task/{shell}/children"
    return wait_until(lambda: next((int(pid) for pid in open(children).read().split()), None), "chela runs")


def test_an_answer_is_shown_while_it_comes(terminal, model):
    model.set_script({"default": {"text": "The first words are here", "chunk_delay_ms": 20, "stall_after": 3}})
    terminal.say("hello")
    terminal.wait_for("The first")
    terminal.press("C-c")
    terminal.wait_for("interrupted")


def test_markdown_is_laid_out(terminal, model):
    model.set_script({"default": {"text": MARKDOWN, "chunk_delay_ms": 1}})
    terminal.say("show me")
    screen = terminal.wait_for("one  │    1", colours=False)
    assert "\nA title\n" in screen and "• first\n• second\n" in screen
    assert "Some strong words, code and a line that is long enough to be wrapped at the end\nof the screen.\n" in screen
    assert "── python ──" in screen
    colours = terminal.screen(colours=True)
    assert "\x1b[1mstrong" in colours


def test_wide_characters_wrap_and_edit(open_terminal, model):
    terminal = open_terminal(columns=20)
    terminal.wait_for("›")
    model.set_script({"default": {"text": "日本語の文章はとても長いので折り返します"}})
    terminal.type("日本語x")
    terminal.press("Left", "Left", "BSpace", "End", "BSpace")
    terminal.wait_for("› 日語\n")
    terminal.press("Enter")
    terminal.wait_for("日本語の文章はとても\n長いので折り返します\n")
    assert model.bodies()[-1]["messages"][-1]["content"].endswith("日語")


def test_the_screen_follows_its_size(terminal, model):
    model.set_script({"replies": [{"text": "one " * 30}, {"text": "word " * 30 + "end"}]})
    terminal.say("first")
    terminal.wait_for(lambda screen: screen.count("one") == 30)
    terminal.resize(41, 24)
    terminal.type("a line that is typed now and is longer than the screen is wide")
    terminal.wait_for("› a line that is typed now and is longer\nthan the screen is wide\n")
    terminal.press("C-u")
    terminal.say("second")
    screen = terminal.wait_for(lambda screen: "word end" in screen and screen.rstrip().endswith("›"))
    assert "› second\n\n" + "word word word word word word word word\n" * 3 in screen


def test_control_characters_of_a_model_do_nothing(terminal, model):
    model.set_script({"default": {"text": "before\x1b[2J\x1b]0;title\x07 \x1b[31mafter\n\n```\n\x1b[5;5Hcode\n```"}})
    terminal.say("attack")
    screen = terminal.wait_for("code")
    assert "before[2J]0;title [31mafter" in screen and "[5;5Hcode" in screen and "attack" in screen


def test_a_question_is_asked_and_answered(terminal, own_engine, model):
    model.set_script(tools_then("It is written.", call("write_file", path="a.txt", content="some text")))
    terminal.type("write it")
    terminal.press("Enter")
    screen = terminal.wait_for("y yes, a always, n no")
    assert "write_file" in screen and "path: a.txt" in screen and "content: some text" in screen
    terminal.say("maybe")
    terminal.wait_for("Please answer y")
    terminal.say("y")
    screen = terminal.wait_for("It is written.")
    assert "approved" in screen
    assert re.search(r"● write_file \d+\.\ds", screen)
    assert (own_engine.home / "workspace/default/a.txt").read_text() == "some text"


def test_what_is_typed_when_a_question_comes_is_kept(terminal, model):
    script = tools_then("done", call("write_file", path="a.txt", content="x"))
    script["rules"][1]["reply"]["first_delay_ms"] = 1000
    model.set_script(script)
    terminal.say("write it")
    terminal.type("half a thought")
    terminal.wait_for("half a thought")
    terminal.wait_for("y yes, a always, n no, v view all ›")
    terminal.say("n")
    terminal.wait_for("denied")
    terminal.wait_for("› half a thought")


def test_a_credential_is_typed_unseen(terminal, own_engine, model):
    model.set_script(tools_then("thank you", with_text("request_secret", {"name": "weather_key", "reason": "Get one at the office."})))
    terminal.say("what is the weather")
    screen = terminal.wait_for("its value (not shown) ›")
    assert "weather_key" in screen and "Get one at the office." in screen
    terminal.type("hunter2hunter2")
    terminal.press("Enter")
    terminal.wait_for("thank you")
    assert "hunter2" not in terminal.screen(history=True)
    terminal.press("C-d")
    assert terminal.wait_exit() == 0
    assert "hunter2" not in (own_engine.home / "history").read_text() + own_engine.log_text() + str(model.bodies())
    assert "weather_key" in own_engine.cli("secret", "list")[1]


def test_ctrl_c_ends_the_turn_and_a_second_one_leaves(terminal, model):
    model.set_script({"default": HANG})
    terminal.say("go on for ever")
    terminal.wait_for("this")
    terminal.press("C-c")
    terminal.wait_for("interrupted")
    terminal.press("C-c")
    assert terminal.wait_exit() == 0
    assert terminal.terminal_is_restored()


def test_ctrl_c_drops_a_line_first(terminal):
    terminal.type("never mind")
    terminal.wait_for("never mind")
    terminal.press("C-c")
    terminal.wait_for(lambda screen: "never mind" not in screen)
    terminal.press("C-d")
    assert terminal.wait_exit() == 0


def test_what_is_typed_while_a_turn_runs_joins_it(terminal, model):
    script = tools_then("both heard", call("time", operation="now"))
    script["rules"][1]["reply"]["first_delay_ms"] = 1500
    model.set_script(script)
    terminal.say("first")
    terminal.wait_for("thinking")
    terminal.say("and second")
    terminal.wait_for("Your message joins the running turn")
    terminal.wait_for("both heard")
    contents = [str(each["content"]) for each in model.bodies()[-1]["messages"]]
    assert any("and second" in each for each in contents)


def test_many_pasted_lines_are_one_message(terminal, model):
    terminal.paste("line one\nline two\nline three")
    terminal.wait_for("line three")
    assert model.requests() == []
    terminal.press("Enter")
    wait_until(model.requests, "the message is sent")
    assert model.bodies()[0]["messages"][-1]["content"].endswith("line one\nline two\nline three")
    assert len(model.bodies()) == 1


def test_the_history_is_there_the_next_time(open_terminal, own_engine, model):
    terminal = open_terminal()
    terminal.wait_for("›")
    model.set_script({"default": {"text": "heard"}})
    for each in ("the first", "the second", "the second"):
        terminal.say(each)
        terminal.wait_for(lambda screen, each=each: screen.rstrip().endswith("›") and "heard" in screen.split(each)[-1])
    terminal.press("C-d")
    assert terminal.wait_exit() == 0
    file = own_engine.home / "history"
    assert file.read_text() == "the first\nthe second\n"
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    again = open_terminal()
    again.wait_for("›")
    again.press("Up", "Up")
    again.wait_for("› the first")


def test_tab_completes_commands_and_threads(terminal):
    terminal.type("/he")
    terminal.press("Tab")
    terminal.press("Enter")
    terminal.wait_for("lists the commands", history=True)
    terminal.say("a thread about kites")
    terminal.wait_for(lambda screen: screen.rstrip().endswith("›"))
    terminal.say("/new")
    terminal.wait_for(lambda screen: screen.rstrip().endswith("›") and "/new" in screen)
    terminal.type("/thread kites")
    terminal.press("Tab")
    terminal.press("Tab")
    terminal.wait_for(lambda screen: re.search(r"› /thread [0-9a-f]{8}-", screen))


def test_a_commands_answer_is_shown_once(terminal):
    terminal.say("/ping")
    terminal.wait_for("pong!")
    terminal.say("/version")
    screen = terminal.wait_for("0.1.0\n\n›")
    assert screen.count("pong!") == 1


def test_an_error_has_a_next_step(terminal, model):
    model.set_script({"default": {"status": 401}})
    terminal.say("hello")
    screen = terminal.wait_for("Next step:")
    assert "chela: " in screen and "llm.api_key" in screen


def test_sigterm_gives_the_terminal_back(terminal):
    os.kill(child_of(terminal), signal.SIGTERM)
    assert terminal.wait_exit() == 0
    assert terminal.terminal_is_restored()


def test_an_abort_gives_the_terminal_back(terminal):
    os.kill(child_of(terminal), signal.SIGABRT)
    assert terminal.wait_exit() == 128 + signal.SIGABRT
    assert terminal.terminal_is_restored()
