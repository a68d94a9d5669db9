// Responses in front of an agent and of a model that speaks chat completions.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import OpenAI from "openai";

import { call, client, collect, script, toolsThen } from "./client.mjs";

const weather = { type: "function", name: "weather", description: "of a city", strict: false,
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } };
const ask = (input, more = {}) => client.responses.create({ model: "chela", input, ...more });

beforeEach(() => script({}));

test("a response", async () => {
  const answer = await ask("hello there");
  assert.match(answer.id, /^resp_/);
  assert.equal(answer.status, "completed");
  assert.match(answer.output_text, /hello there$/);
});

for (const model of ["chela", "some-model"]) {
  test(`a stream of ${model}`, async () => {
    const events = await collect(await ask("hello there", { model, stream: true }));
    const text = events.filter((event) => event.type === "response.output_text.delta").map((event) => event.delta);
    assert.ok(text.length > 1);
    assert.match(text.join(""), /hello there$/);
    assert.equal(events.at(-1).type, "response.completed");
    assert.deepEqual(events.map((event) => event.sequence_number), events.map((_, index) => index));
  });
}

test("an answer is gone on from, with the client's tools", async () => {
  await script(toolsThen("Rain.", call("weather", { city: "Rome" })));
  const asked = await ask("Rome?", { tools: [weather] });
  const use = asked.output.find((item) => item.type === "function_call");
  assert.deepEqual([use.name, JSON.parse(use.arguments)], ["weather", { city: "Rome" }]);
  const told = await ask([{ type: "function_call_output", call_id: use.call_id, output: "rain" }], { previous_response_id: asked.id });
  assert.equal(told.output_text, "Rain.");
});

test("a wrong request", async () => {
  await assert.rejects(ask("x", { background: true }), (error) => error instanceof OpenAI.BadRequestError && error.param === "background");
});
