"""Settings: where they come from, and what a wrong one is answered with."""

import pytest

KEY = "sk-another-key-that-must-not-show-0123456789"


def config(engine, text):
    (engine.home / "config.toml").write_text(text)


@pytest.mark.parametrize("text, line, words", [
    ("[gateway]\nprot = 1\n", 2, ["gateway.prot", "gateway.port"]),
    ("[gateway]\nport = 'many'\n", 2, ["gateway.port", "number"]),
    ("\n\n[agent]\nbusy = 'never'\n", 4, ["agent.busy", "steer", "queue"]),
    ("[gateway]\nport = 99999\n", 2, ["gateway.port", "65535"]),
    ("[limits]\nbody = 'huge'\n", 2, ["limits.body", "10MiB"]),
    ("[gateway\n", 1, []),
    ("[llm]\napi_key = 'secret'\n", 2, ["llm.api_key", "CHELA_LLM_API_KEY"])])
def test_a_wrong_file_stops_the_start(own_engine, text, line, words):
    config(own_engine, text)
    code, out, err = own_engine.cli("run", "--headless")
    assert code == 2 and out == ""
    assert f"config.toml:{line}" in err and len(err.strip().splitlines()) == 1
    for word in words:
        assert word in err
    assert "secret'" not in err


@pytest.mark.parametrize("env, args, words", [
    ({"CHELA_GATEWAY_PORT": "x"}, [], ["CHELA_GATEWAY_PORT", "number"]),
    ({"CHELA_GATEWAY_PROT": "1"}, [], ["CHELA_GATEWAY_PROT"]),
    ({"LLM_BACKEND": "skynet"}, [], ["skynet", "openai"]),
    ({}, ["--set", "gateway.prot=1"], ["gateway.prot"]),
    ({}, ["--set", "nonsense"], ["--set"])])
def test_a_wrong_variable_or_flag_stops_the_start(own_engine, env, args, words):
    code, _, err = own_engine.cli("run", "--headless", *args, env=env)
    assert code == 2
    for word in words:
        assert word in err


def test_layers_win_in_order(own_engine):
    config(own_engine, "[agent]\nmax_tool_iterations = 7\n")
    own_engine.env.pop("CHELA_GATEWAY_PORT")

    def shown(env, *args):
        code, out, _ = own_engine.cli("config", "agent.max_tool_iterations", *args, env=env)
        assert code == 0
        return out.splitlines()[0]

    assert shown({}).startswith("agent.max_tool_iterations = 7") and "config.toml" in shown({})
    assert "= 8" in shown({"AGENT_MAX_TOOL_ITERATIONS": "8"})
    assert "= 9" in shown({"AGENT_MAX_TOOL_ITERATIONS": "8", "CHELA_AGENT_MAX_TOOL_ITERATIONS": "9"})
    assert "= 10" in shown({"CHELA_AGENT_MAX_TOOL_ITERATIONS": "9"}, "--set", "agent.max_tool_iterations=10")


def test_all_keys_are_shown_and_secrets_are_not(own_engine):
    code, out, _ = own_engine.cli("config", env={"LLM_API_KEY": KEY, "GATEWAY_AUTH_TOKEN": "hidden-token-0123"})
    assert code == 0
    for key in ("gateway.port", "llm.base_url", "limits.body", "tools.timeout"):
        assert f"\n{key} = " in "\n" + out
    assert KEY not in out and "hidden-token-0123" not in out
    code, out, _ = own_engine.cli("config", "llm.api_key")
    assert code == 0 and "LLM_API_KEY" in out


def test_an_unknown_key_is_5_with_the_nearest_one(own_engine):
    code, _, err = own_engine.cli("config", "gateway.prot")
    assert code == 5 and "gateway.port" in err


def test_limits_are_settings(own_engine, model):
    config(own_engine, "[limits]\nmessage = 50\nbody = '2KiB'\nv1_body = '4KiB'\n")
    own_engine.start()
    post = own_engine.api.post
    assert post("/api/chat/send", json={"content": "x" * 51}).status_code == 413
    assert post("/api/chat/send", json={"content": "x" * 50}).status_code == 202
    assert post("/api/memory/write", json={"path": "a.md", "content": "x" * 3000}).status_code == 413
    assert post("/v1/chat/completions", json={"model": "m", "messages": [{"role": "user", "content": "x" * 3000}]}).status_code == 200
    assert post("/v1/chat/completions", json={"model": "m", "messages": [{"role": "user", "content": "x" * 5000}]}).status_code == 413


def test_a_port_in_use_is_said_clearly(own_engine, engine):
    own_engine.env["CHELA_GATEWAY_PORT"] = str(engine.port)
    code, _, err = own_engine.cli("run", "--headless")
    assert code == 6 and str(engine.port) in err


@pytest.mark.parametrize("home", ["/proc/nothing/here", "/dev/null/home"])
def test_a_home_that_cannot_be_is_said_clearly(own_engine, home):
    code, _, err = own_engine.cli("--home", home, "run", "--headless")
    assert code != 0 and err.startswith("chela: cannot ") and len(err.splitlines()) == 1
