// The official clients ask a model itself, whatever protocol it speaks behind us. Run once for each protocol by test_openai_node.py.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

import { call, client, collect, requests, script, textOf, token, user } from "./client.mjs";

const claude = new Anthropic({ baseURL: process.env.CHELA_ENGINE, apiKey: token, maxRetries: 0, timeout: 60_000 });
const cached = process.env.CHELA_UPSTREAM === "ollama" ? 0 : 60; // which does not tell them

const TEXT = "one two three four five six seven eight nine ten";
const USAGE = { input: 100, output: 7, cached: 60 };
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkY+BhAAAAngBSH1Ig6AAAAABJRU5ErkJggg==";
const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
// The result's text tells the second call from the first: one of the protocols has no messages of tools.
const WEATHER = {
  rules: [{ when: { last_contains: "12 degrees" }, reply: { text: "Rain." } }],
  default: { tool_calls: [call("weather", { city: "Rome" }, "w1")] },
};

const chat = (messages, more = {}) => client.chat.completions.create({ model: "scripted", messages, ...more });
const respond = (input, more = {}) => client.responses.create({ model: "scripted", input, ...more });
const ask = (messages, more = {}) => claude.messages.create({ model: "scripted", max_tokens: 500, messages, ...more });
const said = (message) => message.content.filter((block) => block.type === "text").map((block) => block.text).join("");

async function pieces(stream, seen) {
  for await (const each of stream) seen.push(each);
}

beforeEach(() => script({}));

test("chat, whole and in a stream, with what it took", async () => {
  await script({ default: { text: TEXT, usage: USAGE } });
  const whole = await chat([user("hello")]);
  assert.equal(whole.choices[0].message.content, TEXT);
  assert.deepEqual([whole.usage.prompt_tokens, whole.usage.completion_tokens, whole.usage.prompt_tokens_details.cached_tokens], [100, 7, cached]);
  const chunks = await collect(await chat([user("hello")], { stream: true, stream_options: { include_usage: true } }));
  assert.equal(textOf(chunks), TEXT);
  assert.equal(chunks.at(-1).usage.prompt_tokens_details.cached_tokens, cached);
});

test("chat with a tool", async () => {
  await script(WEATHER);
  const tools = [{ type: "function", function: { name: "weather", description: "of a city", parameters: city } }];
  const messages = [user("Rome?")];
  const final = await client.chat.completions.stream({ model: "scripted", messages, tools }).finalChatCompletion();
  const { message, finish_reason: reason } = final.choices[0];
  assert.equal(reason, "tool_calls");
  const [use] = message.tool_calls;
  assert.deepEqual([use.function.name, JSON.parse(use.function.arguments)], ["weather", { city: "Rome" }]);
  const asked = { id: use.id, type: "function", function: { name: "weather", arguments: use.function.arguments } };
  messages.push({ role: "assistant", tool_calls: [asked] }, { role: "tool", tool_call_id: use.id, content: "rain, 12 degrees" });
  assert.equal((await chat(messages, { tools })).choices[0].message.content, "Rain.");
});

test("a response, whole and in a stream, with a tool", async () => {
  await script({ default: { text: TEXT, usage: USAGE } });
  const whole = await respond("hello");
  assert.equal(whole.output_text, TEXT);
  assert.deepEqual([whole.usage.input_tokens, whole.usage.input_tokens_details.cached_tokens], [100, cached]);
  const events = await collect(await respond("hello", { stream: true }));
  assert.equal(events.filter((each) => each.type === "response.output_text.delta").map((each) => each.delta).join(""), TEXT);
  await script(WEATHER);
  const tools = [{ type: "function", name: "weather", description: "of a city", strict: false, parameters: city }];
  const use = (await respond("Rome?", { tools })).output.find((item) => item.type === "function_call");
  assert.deepEqual([use.name, JSON.parse(use.arguments)], ["weather", { city: "Rome" }]);
  const told = await respond([{ role: "user", content: "Rome?" }, { type: "function_call", call_id: use.call_id, name: use.name, arguments: use.arguments },
    { type: "function_call_output", call_id: use.call_id, output: "rain, 12 degrees" }], { tools });
  assert.equal(told.output_text, "Rain.");
});

test("a message, whole and in a stream, with a tool", async () => {
  await script({ default: { text: TEXT, usage: USAGE } });
  const whole = await ask([user("hello")]);
  assert.equal(said(whole), TEXT);
  assert.deepEqual([whole.usage.input_tokens, whole.usage.cache_read_input_tokens ?? 0], [100 - cached, cached]);
  const final = await claude.messages.stream({ model: "scripted", max_tokens: 500, messages: [user("hello")] }).finalMessage();
  assert.equal(said(final), TEXT);
  await script(WEATHER);
  const tools = [{ name: "weather", description: "of a city", input_schema: city }];
  const asked = await claude.messages.stream({ model: "scripted", max_tokens: 500, messages: [user("Rome?")], tools }).finalMessage();
  const use = asked.content.find((block) => block.type === "tool_use");
  assert.deepEqual([use.name, use.input, asked.stop_reason], ["weather", { city: "Rome" }, "tool_use"]);
  const result = { type: "tool_result", tool_use_id: use.id, content: "rain, 12 degrees" };
  assert.equal(said(await ask([user("Rome?"), { role: "assistant", content: asked.content }, user([result])], { tools })), "Rain.");
});

test("images in each API's own form", async () => {
  const url = `data:image/png;base64,${PIXEL}`;
  await chat([user([{ type: "text", text: "what?" }, { type: "image_url", image_url: { url } }])]);
  await respond([{ role: "user", content: [{ type: "input_text", text: "what?" }, { type: "input_image", detail: "auto", image_url: url }] }]);
  await ask([user([{ type: "text", text: "what?" }, { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } }])]);
  const asked = await requests(process.env.CHELA_UPSTREAM_PATH);
  assert.equal(asked.length, 3);
  for (const each of asked) assert.ok(JSON.stringify(each.body).includes(PIXEL));
});

test("a stream that is cut in the middle", async () => {
  await script({ default: { text: TEXT, cut_after: 7 } });
  const seen = [];
  await assert.rejects(async () => pieces(await chat([user("hello")], { stream: true }), seen), OpenAI.APIError);
  assert.ok(textOf(seen) && TEXT.startsWith(textOf(seen)));
  await assert.rejects(async () => pieces(await respond("hello", { stream: true }), seen), OpenAI.APIError);
  await assert.rejects(async () => pieces(await ask([user("hello")], { stream: true }), seen), Anthropic.APIError);
  await assert.rejects(chat([user("hello")]), OpenAI.InternalServerError);
});

for (const [status, kind] of [[400, "BadRequestError"], [401, "InternalServerError"], [429, "RateLimitError"]]) {
  test(`an upstream that says ${status}`, async () => {
    await script({ default: { status, error: { message: "no" }, ...(status === 429 ? { retry_after: "120" } : {}) } });
    for (const stream of [false, true]) {
      await assert.rejects(chat([user("hello")], { stream }), OpenAI[kind]);
      await assert.rejects(respond("hello", { stream }), OpenAI[kind]);
      await assert.rejects(ask([user("hello")], { stream }), Anthropic[kind]);
    }
    assert.equal((await requests(process.env.CHELA_UPSTREAM_PATH)).length, 6);
  });
}

test("models are listed", async () => {
  const names = (await client.models.list()).data.map((each) => each.id);
  assert.ok(names.includes("chela") && names.includes("scripted"));
  assert.deepEqual((await claude.models.list()).data.map((each) => each.id), names);
});

test("embeddings, where the provider has them", async () => {
  const ask = (input, more = {}) => client.embeddings.create({ model: "scripted", input, ...more });
  if (["anthropic", "bedrock"].includes(process.env.CHELA_UPSTREAM)) {
    await assert.rejects(ask("a crab"), (error) => error.status === 501 && /has no embeddings/.test(error.message));
    return;
  }
  const { data, usage } = await ask(["a crab", "a claw"]);
  assert.deepEqual(data.map((each) => each.embedding.length), [64, 64]);
  assert.ok(usage.prompt_tokens > 0);
  const plain = (await ask("a crab", { encoding_format: "float", dimensions: 5 })).data[0].embedding;
  assert.equal(plain.length, 5);
  await assert.rejects(ask([1, 2]), OpenAI.BadRequestError);
});
