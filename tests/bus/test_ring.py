"""Workers of every published SDK on one engine call each other in a ring: each, while it serves a call, calls the next one."""

import pytest

from support.waiting import wait_until
from workers import RUST, SDKS, Worker

ROUNDS = 5  # that each member has under way at once


@pytest.fixture(scope="module")
def ring(crowd):
    return provide(crowd)


@pytest.fixture(scope="module")
def ring_with_rust(ring, engine, tmp_path_factory):
    worker = Worker(RUST, engine.engine_file()["ports"]["bus"], engine.token, f"crowd-{RUST}", tmp_path_factory.mktemp("rust"))
    yield {**ring, **provide({RUST: worker})}
    worker.close()


def provide(members):
    """Registers what a ring needs of each."""
    for sdk, worker in members.items():
        for kind in ("echo", "nested"):
            worker.register(f"{sdk}::ring-{kind}", kind)
    wanted = {f"{sdk}::ring-{kind}" for sdk in members for kind in ("echo", "nested")}
    for worker in members.values():
        wait_until(lambda worker=worker: wanted <= worker.functions().keys(), f"{worker.name} sees all functions")
    return members


def around(order, payload):
    """What the first of `order` is to be called with, so that the call passes through all and comes back to it."""
    call = {"next": f"{order[0]}::ring-echo", "data": payload}
    for sdk in reversed(order[1:]):
        call = {"next": f"{sdk}::ring-nested", "data": call}
    return call


def turned(members, first):
    order = list(members)
    at = order.index(first)
    return order[at:] + order[:at]


def check(answer, order, payload):
    passed = []
    while "inner" in answer:
        passed.append(answer["from"])
        answer = answer["inner"]
    assert [*passed, answer["from"]] == [f"crowd-{sdk}" for sdk in (*order, order[0])]
    assert payload.items() <= answer["data"].items()


def go_round(members, first):
    order, payload = turned(members, first), {"hello": f"ring of {first}"}
    check(members[first].call(f"{first}::ring-nested", around(order, payload)), order, payload)


def all_at_once(members):
    """Every member begins rings of its own while those of the others are under way."""
    begun = []
    for number in range(ROUNDS):
        for first, worker in members.items():
            order, payload = turned(members, first), {"round": number, "of": first}
            begun.append((worker.start("call", function_id=f"{first}::ring-nested", payload=around(order, payload)), order, payload))
    for wait, order, payload in begun:
        check(wait(), order, payload)


@pytest.mark.parametrize("first", SDKS)
def test_from_each_member_and_back(ring, first):
    go_round(ring, first)


def test_many_rings_at_once(ring):
    all_at_once(ring)


@pytest.mark.timeout(900)  # builds the worker first
def test_with_rust_among_them(ring_with_rust):
    assert len(ring_with_rust) == len(SDKS) + 1
    for first in ring_with_rust:
        go_round(ring_with_rust, first)
    all_at_once(ring_with_rust)
