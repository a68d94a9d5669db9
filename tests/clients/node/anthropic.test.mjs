// The official client of Anthropic in front of an agent and of a model that speaks another protocol.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";

import { bodies, call, script, token, toolsThen, user } from "./client.mjs";

const connect = (apiKey = token) => new Anthropic({ baseURL: process.env.CHELA_ENGINE, apiKey, maxRetries: 0, timeout: 60_000 });
const claude = connect();
const request = (messages, more = {}) => ({ model: "chela", max_tokens: 500, messages, ...more });
const textOf = (message) => message.content.filter((block) => block.type === "text").map((block) => block.text).join("");
const weather = { name: "weather", description: "of a city", input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } };

beforeEach(() => script({}));

test("a message", async () => {
  const message = await claude.messages.create(request([user("hello there")]));
  assert.match(message.id, /^msg_/);
  assert.deepEqual([message.type, message.role, message.model, message.stop_reason], ["message", "assistant", "chela", "end_turn"]);
  assert.match(textOf(message), /hello there$/);
  assert.ok(message.usage.input_tokens > 0 && message.usage.output_tokens > 0);
});

for (const model of ["chela", "some-model"]) {
  test(`a stream of ${model}`, async () => {
    const pieces = [];
    const stream = claude.messages.stream(request([user("hello there")], { model })).on("text", (text) => pieces.push(text));
    const final = await stream.finalMessage();
    assert.ok(pieces.length > 1);
    assert.equal(pieces.join(""), textOf(final));
    assert.equal(final.stop_reason, "end_turn");
  });

  test(`the client's tools with ${model}`, async () => {
    await script(toolsThen("Rain.", call("weather", { city: "Rome" })));
    const more = { model, tools: [weather] };
    const asked = await claude.messages.stream(request([user("Rome?")], more)).finalMessage();
    const use = asked.content.find((block) => block.type === "tool_use");
    assert.deepEqual([use.name, use.input, asked.stop_reason], ["weather", { city: "Rome" }, "tool_use"]);
    const result = { type: "tool_result", tool_use_id: use.id, content: "rain, 12 degrees" };
    const told = await claude.messages.create(request([user("Rome?"), { role: "assistant", content: asked.content }, user([result])], more));
    assert.equal(textOf(told), "Rain.");
    assert.match(JSON.stringify((await bodies()).at(-1).messages), /rain, 12 degrees/);
  });
}

test("errors are told in Anthropic's way", async () => {
  await assert.rejects(claude.messages.create(request([])), (error) => {
    assert.ok(error instanceof Anthropic.BadRequestError);
    assert.equal(error.error.error.type, "invalid_request_error");
    return true;
  });
  await assert.rejects(connect("wrong").messages.create(request([user("x")])), Anthropic.AuthenticationError);
  await assert.rejects(claude.messages.create(request([user("x")], { model: "chela/nobody" })), Anthropic.NotFoundError);
});
