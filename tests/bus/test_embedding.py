"""A Python worker that provides embedding::generate: for agents of AgentOS on the bus alone, and for the memory of our own agents."""

import threading

import pytest
from support.scripts import call, tools_then
from support.waiting import wait_until
from workers import PYTHON, SdkError

# The modules that AgentOS starts iii with, as it configures them; but for ports of its own.
AGENTOS = """
port: 0
modules:
  - class: modules::api::RestApiModule
    config:
      port: 0
      host: 127.0.0.1
      default_timeout: 300000
      concurrency_request_limit: 2048
      cors: { allowed_origins: ["*"], allowed_methods: [GET, POST, PUT, DELETE, OPTIONS], allowed_headers: ["*"] }
  - class: modules::state::StateModule
    config:
      adapter: { class: "modules::state::adapters::KvStore", config: { store_method: file_based, file_path: ./data/state } }
  - class: modules::stream::StreamModule
    config:
      port: 0
      host: 127.0.0.1
      adapter: { class: "modules::stream::adapters::KvStore", config: { store_method: file_based, file_path: ./data/streams } }
  - class: modules::queue::QueueModule
    config:
      adapter: { class: "modules::queue::BuiltinQueueAdapter" }
  - class: modules::pubsub::PubSubModule
    config:
      adapter: { class: "modules::pubsub::LocalAdapter" }
  - class: modules::cron::CronModule
    config:
      adapter: { class: "modules::cron::KvCronAdapter" }
  - class: modules::kv_server::KvServer
    config: { store_method: file_based, file_path: ./data/kv, save_interval_ms: 5000 }
  - class: modules::observability::OtelModule
    config:
      enabled: true
      exporter: memory
      metrics_enabled: true
      logs_enabled: true
      alerts:
        - { name: high-error-rate, metric: iii.invocations.error, threshold: 10, operator: ">", window_seconds: 60, action: { type: log } }
"""
FUNCTION = "embedding::generate"
# By words the first is the best; by meaning the second is the nearest to a question, and the first the farthest.
NOTES = {"first.md": "needle needle needle at 120", "second.md": "needle needle at 5 and some words",
         "third.md": "needle at 60 and some more words than before"}
BY_WORDS = list(NOTES)
BY_MEANING = ["second.md", "first.md", "third.md"]


def provide(worker, kind="embed"):
    """Registers it, and waits until the engine has it."""
    worker.register(FUNCTION, kind)
    wait_until(lambda: FUNCTION in worker.functions(), f"{worker.name} provides it")
    return worker


def asked(worker):
    return len(worker.do("seen", function_id=FUNCTION))


def test_an_agent_of_agentos_is_served_whoever_provides_it(bus_engine, join):
    engine = bus_engine(AGENTOS).start()

    def new(sdk):
        return join(sdk, port=engine.ports["bus"], token="")

    agent, first = new("0.11.6"), provide(new(PYTHON))
    assert agent.call(FUNCTION, {"text": "at 90"})["embedding"] == pytest.approx([0, 1])
    first.kill()
    wait_until(lambda: FUNCTION not in agent.functions(), "it has gone")
    again = provide(new(PYTHON))
    assert agent.call(FUNCTION, {"text": "nothing"}) == {"embedding": [1, 0], "dim": 2}

    answers, errors, stop = [], [], threading.Event()

    def ask():
        while not stop.is_set():
            try:
                answers.append(agent.call(FUNCTION, {"batch": ["a", "b"]}))
            except SdkError as error:
                errors.append(str(error))

    asking = [threading.Thread(target=ask) for _ in range(4)]
    for each in asking:
        each.start()
    second = provide(new(PYTHON))
    wait_until(lambda: asked(second), "both serve")
    again.do("unregister", function_id=FUNCTION)  # it still answers what it has
    before = asked(second)
    wait_until(lambda: asked(second) > before + 20, "the second one serves")
    again.do("shutdown")
    stop.set()
    for each in asking:
        each.join()
    assert errors == [] and all(each == {"embeddings": [[1, 0], [1, 0]], "dim": 2} for each in answers)
    assert engine.stop() == 0


@pytest.fixture
def search(engine, chat, model):
    """What a search of an agent finds, best first."""
    for path, text in NOTES.items():
        engine.api.post("/api/memory/write", json={"path": path, "content": text}).raise_for_status()
    model.set_script(tools_then("done", call("memory_search", query="needle")))

    def found():
        texts = [each["content"] for each in model.bodies()[-1]["messages"] if each["role"] == "tool"]
        return sorted(NOTES, key=texts[-1].index)

    def new():
        assert chat.say("search")["state"] == "completed"
        return found()

    new.found = found
    return new


def test_an_agents_search_goes_by_meaning_while_a_worker_embeds(search, join):
    assert search() == BY_WORDS
    first = provide(join(PYTHON))
    assert search() == BY_MEANING
    assert first.do("seen", function_id=FUNCTION)[-1]["batch"] == ["needle", *NOTES.values()]
    first.kill()
    watcher = join(PYTHON)
    wait_until(lambda: FUNCTION not in watcher.functions(), "it has gone")
    assert search() == BY_WORDS
    again = provide(join(PYTHON))
    assert search() == BY_MEANING
    second = provide(join(PYTHON))
    again.do("shutdown")
    assert [search() for _ in range(5)] == [BY_MEANING] * 5
    assert asked(second) >= 4


@pytest.mark.parametrize("others, order", [(False, BY_WORDS), (True, BY_MEANING)], ids=["nobody", "another"])
def test_a_worker_that_dies_over_it_costs_no_search(search, chat, join, others, order):
    dying, another = provide(join(PYTHON), "hang"), join(PYTHON)
    turn = chat.send("search")["turn_id"]
    wait_until(lambda: asked(dying), "the call arrives")
    if others:
        provide(another)
    dying.kill()
    assert chat.wait(turn)["state"] == "completed"
    assert search.found() == order


def test_a_worker_that_answers_with_nonsense_costs_no_search(search, join):
    provide(join(PYTHON), "echo")
    assert search() == BY_WORDS
