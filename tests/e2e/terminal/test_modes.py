"""Where the chat runs and what its output is: with an engine that runs, without colour, on a dumb terminal, in a pipe."""

import json

from support import Chat
from support.scripts import HANG

MARKDOWN = "# Title\n\nSome **strong** `code`.\n"


def test_no_colour_writes_no_colours(open_terminal, model):
    for args, env in ((["chat"], {"NO_COLOR": "1"}), (["chat", "--no-color"], {})):
        model.set_script({"default": {"text": MARKDOWN}})
        terminal = open_terminal(*args, env=env)
        terminal.wait_for("›")
        terminal.say("hello")
        terminal.wait_for("# Title\n\nSome **strong** `code`.")
        assert "\x1b" not in terminal.screen(colours=True)
        terminal.press("C-d")
        assert terminal.wait_exit() == 0


def test_a_dumb_terminal_gets_plain_text(open_terminal, model):
    model.set_script({"default": {"text": MARKDOWN}})
    terminal = open_terminal(env={"TERM": "dumb"})
    terminal.wait_for("\n>\n")
    terminal.say("hello")
    screen = terminal.wait_for("# Title\n\nSome **strong** `code`.")
    assert "›" not in screen
    terminal.press("C-d")
    assert terminal.wait_exit() == 0


def test_output_in_a_pipe_is_what_the_model_wrote(own_engine, model):
    model.set_script({"default": {"text": MARKDOWN}})
    assert own_engine.cli("chat", "-m", "hello")[:2] == (0, MARKDOWN)
    assert own_engine.cli("chat", stdin="hello\n")[:2] == (0, MARKDOWN)


def test_one_message_is_laid_out_on_a_terminal(open_terminal, model):
    model.set_script({"default": {"text": MARKDOWN}})
    terminal = open_terminal("run", "-m", "hello")
    assert terminal.wait_exit() == 0
    screen = terminal.screen()
    assert "Title\n\nSome strong code.\n" in screen and "›" not in screen
    assert terminal.terminal_is_restored()


def test_ctrl_c_of_one_message_is_130(open_terminal, model):
    model.set_script({"default": HANG})
    terminal = open_terminal("run", "-m", "hello")
    terminal.wait_for("this")
    terminal.press("C-c")
    assert terminal.wait_exit() == 130
    assert terminal.terminal_is_restored()


def test_a_chat_joins_the_engine_that_runs(open_terminal, own_engine, model):
    own_engine.start()
    model.set_script({"default": {"text": "an answer"}})
    terminal = open_terminal()
    terminal.wait_for("Using the engine that runs already")
    terminal.say("hello")
    terminal.wait_for("an answer")
    terminal.press("C-d")
    assert terminal.wait_exit() == 0
    assert own_engine.running()


def test_a_thread_goes_on_with_its_past(open_terminal, own_engine, model):
    own_engine.start()
    model.set_script({"default": {"text": "an answer"}})
    chat = Chat(own_engine)
    chat.say("about kites")
    terminal = open_terminal("chat", "--thread", "latest")
    screen = terminal.wait_for("an answer")
    assert "› about kites" in screen
    terminal.say("more")
    terminal.wait_for(lambda screen: screen.count("an answer") == 2)
    assert [turn["user_input"] for turn in chat.turns()] == ["about kites", "more"]


def test_a_stream_that_breaks_is_taken_up(open_terminal, own_engine, model):
    own_engine.start()
    terminal = open_terminal()
    terminal.wait_for("›")
    model.set_script({"default": {"text": "an answer"}})
    terminal.say("one")
    terminal.wait_for("an answer")
    own_engine.kill9()
    terminal.wait_for("trying again")
    own_engine.start()
    terminal.wait_for("Connected again.")
    terminal.say("two")
    terminal.wait_for(lambda screen: screen.count("an answer") == 2)


def test_an_engine_that_stays_away_ends_the_chat(open_terminal, own_engine):
    own_engine.start()
    terminal = open_terminal()
    terminal.wait_for("›")
    own_engine.kill9()
    assert terminal.wait_exit() == 8
    assert "the engine has stopped" in terminal.screen()
    assert terminal.terminal_is_restored()


def test_threads_can_be_listed_and_searched(own_engine, model):
    own_engine.start()
    for about in ("red kites", "blue boats"):
        Chat(own_engine).say(about)
    code, out, _ = own_engine.cli("threads", "--search", "boats")
    assert code == 0 and "blue boats" in out and "red kites" not in out
    found = json.loads(own_engine.cli("threads", "--search", "kites", "--json")[1])["threads"]
    assert [each["title"] for each in found] == ["red kites"]
