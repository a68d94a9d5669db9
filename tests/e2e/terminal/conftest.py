"""Terminals of these tests: the real program in tmux, each with a home of its own unless an engine is given."""

import pytest

from support.tmux import Tmux


@pytest.fixture
def open_terminal(own_engine):
    """Starts `chela ARGS` (else `chela chat`) in a terminal; the home is own_engine's, which runs or not as the test wants."""
    opened = []

    def start(*args, columns=80, rows=24, env=None):
        environment = {key: str(value) for key, value in own_engine.env.items() if value is not None}
        terminal = Tmux([own_engine.program, *(args or ["chat"])], {**environment, **(env or {})}, columns, rows, own_engine.home)
        opened.append(terminal)
        return terminal

    yield start
    for each in opened:
        each.close()


@pytest.fixture
def terminal(open_terminal):
    """`chela chat` at its first prompt."""
    made = open_terminal()
    made.wait_for("›")
    return made
