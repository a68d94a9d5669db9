"""Queues, topics, cron and their dead of two users of one engine: neither sees, hears or serves what is the other's."""

import pytest
from support import Engine
from support.waiting import wait_until
from workers import SdkError


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """An engine of bob's, with a token that alice left when it was hers."""
    home = tmp_path_factory.mktemp("shared") / "home"
    with Engine(home, env={"GATEWAY_USER_ID": "alice"}) as first:
        made = first.api.post("/api/tokens", json={"permissions": ["bus:*"]}).raise_for_status().json()["token"]
    with Engine(home, env={"GATEWAY_USER_ID": "bob"}) as engine:
        plain = engine.api.post("/api/tokens", json={"permissions": ["bus:*"]}).raise_for_status().json()["token"]
        yield engine, made, plain


@pytest.fixture
def alice_and_bob(shared, join):
    """One worker of each; bob's token is none of an administrator, so that his functions are his alone."""
    engine, alices, bobs = shared
    port = engine.engine_file()["ports"]["bus"]
    return join(port=port, token=alices), join("0.11.6", port=port, token=bobs)


def seen(worker, function_id):
    return worker.do("seen", function_id=function_id)


def stats(worker, name):
    return worker.call("engine::queue::topic_stats", {"topic": name})


def test_a_named_queue_of_one_is_not_the_others(alice_and_bob):
    alice, bob = alice_and_bob
    alice.register("mine::on")
    bob.do("enqueue", function_id="mine::on", payload={"from": "bob"}, queue="default")
    alice.do("enqueue", function_id="mine::on", payload={"from": "alice"}, queue="default")
    wait_until(lambda: seen(alice, "mine::on"), "hers arrives")
    wait_until(lambda: stats(alice, "default")["depth"] == 0, "hers is done")
    assert stats(bob, "default")["depth"] == 1, "his waits for a function of his own"
    bob.register("mine::on")
    wait_until(lambda: seen(bob, "mine::on"), "his arrives")
    assert seen(alice, "mine::on") == [{"from": "alice"}] and seen(bob, "mine::on") == [{"from": "bob"}]


def test_a_topic_of_one_is_not_the_others(alice_and_bob):
    alice, bob = alice_and_bob
    for each in alice_and_bob:
        each.register("orders::on")
        each.do("trigger", key="t", type="durable:subscriber", function_id="orders::on", config={"topic": "orders"})
        each.call("engine::queue::list_topics")  # and so it is registered
    alice.call("iii::durable::publish", {"topic": "orders", "data": {"from": "alice"}})
    bob.call("iii::durable::publish", {"topic": "orders", "data": {"from": "bob"}})
    for name, each in (("alice", alice), ("bob", bob)):
        wait_until(lambda: seen(each, "orders::on"), f"that of {name} arrives")  # noqa: B023
    alice.call("iii::durable::publish", {"topic": "orders", "data": {"from": "alice"}})
    wait_until(lambda: len(seen(alice, "orders::on")) == 2, "and another of hers")
    assert seen(bob, "orders::on") == [{"from": "bob"}]
    for each in alice_and_bob:
        each.do("end_trigger", key="t")


def test_the_dead_of_one_are_not_shown_or_given_to_the_other(alice_and_bob):
    alice, bob = alice_and_bob
    alice.register("breaks", "fail")
    alice.call("iii::durable::publish", {"topic": "broken", "data": {"n": 1}})
    alice.do("trigger", key="t", type="durable:subscriber", function_id="breaks",
             config={"topic": "broken", "queue_config": {"maxRetries": 1}})
    [row] = wait_until(lambda: alice.call("engine::queue::dlq_topics"), "it is dead")
    assert row["topic"] == "broken"
    [message] = alice.call("engine::queue::dlq_messages", {"topic": "broken"})
    assert bob.call("engine::queue::dlq_topics") == []
    assert "broken" not in {each["name"] for each in bob.call("engine::queue::list_topics")}
    for function in ("iii::queue::redrive_message", "iii::queue::discard_message"):
        with pytest.raises(SdkError, match="broken"):
            bob.call(function, {"topic": "broken", "message_id": message["id"]})
    assert alice.call("iii::queue::discard_message", {"topic": "broken", "message_id": message["id"]})


def test_a_job_of_one_runs_a_function_of_his_own(alice_and_bob):
    """The same job of both: each has it, none runs it for the other."""
    alice, bob = alice_and_bob
    for each in alice_and_bob:
        each.register("tick")
    alice.do("trigger", key="t", type="cron", function_id="tick", config={"expression": "* * * * * *"})
    wait_until(lambda: len(seen(alice, "tick")) >= 2, "hers runs")
    assert seen(bob, "tick") == []
    bob.do("trigger", key="t", type="cron", function_id="tick", config={"expression": "* * * * * *"})
    wait_until(lambda: len(seen(bob, "tick")) >= 2, "so does his")
    alice.do("end_trigger", key="t")
    listed = alice.call("engine::registered-triggers::list")["registered_triggers"]
    assert not [row for row in listed if row["trigger_type"] == "cron"], "she does not see his"
    before = len(seen(bob, "tick"))
    wait_until(lambda: len(seen(bob, "tick")) > before, "his goes on")


def test_a_message_dies_with_the_revocation_of_its_token(engine, join):
    made = engine.api.post("/api/tokens", json={"permissions": ["bus:*"]}).raise_for_status().json()["token"]
    sender, owner = join(token=made), join()
    for function in ("revoked::before", "revoked::after"):
        sender.do("enqueue", function_id=function, payload={"n": 1}, queue="default")
    owner.register("revoked::before")
    wait_until(lambda: seen(owner, "revoked::before"), "what is handled in time is handled")
    engine.api.delete(f"/api/tokens/{made.split('_')[1]}").raise_for_status()
    owner.register("revoked::after")
    wait_until(lambda: stats(owner, "default")["dlq_depth"] == 1, "the message is dead")
    [row] = owner.call("engine::queue::dlq_messages", {"topic": "default"})
    assert "FORBIDDEN" in row["error"] and "revoked" in row["error"]
    assert seen(owner, "revoked::after") == []
