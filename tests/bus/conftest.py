"""The bus of one engine a file, and workers of every SDK on it."""

import itertools

import pytest

from support.bus_engine import BusEngine
from workers import SDKS, Worker


@pytest.fixture(scope="module")
def crowd(engine, tmp_path_factory):
    """One worker of each SDK, all connected for the whole file."""
    folder = tmp_path_factory.mktemp("workers")
    made = {sdk: Worker(sdk, engine.engine_file()["ports"]["bus"], engine.token, f"crowd-{sdk}", folder) for sdk in SDKS}
    yield made
    for each in made.values():
        each.close()


@pytest.fixture
def join(request, tmp_path):
    """Makes workers that are gone after the test."""
    made, count = [], itertools.count()

    def new(sdk="0.22.1", port=None, token=None):
        if port is None or token is None:
            engine = request.getfixturevalue("engine")
            port, token = port or engine.engine_file()["ports"]["bus"], engine.token if token is None else token
        made.append(Worker(sdk, port, token, f"w{next(count)}-{sdk}", tmp_path))
        return made[-1]

    yield new
    for each in made:
        each.close()


@pytest.fixture
def bus_engine(tmp_path):
    """Makes engines that are the bus alone, not started yet: bus_engine(config, env)."""
    made = []

    def new(config, env=None):
        made.append(BusEngine(tmp_path / f"bus{len(made)}", config, env))
        return made[-1]

    yield new
    for each in made:
        each.close()
