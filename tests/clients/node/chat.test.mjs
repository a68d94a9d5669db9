// Chats, streams, conversations.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import OpenAI from "openai";

import { api, bodies, call, chat, client, script, stream, textOf, toolsThen, user } from "./client.mjs";

beforeEach(() => script({}));

test("a chat", async () => {
  const answer = await chat([user("hello there")]);
  const [choice] = answer.choices;
  assert.match(answer.id, /^chatcmpl-/);
  assert.deepEqual([answer.object, answer.model, choice.message.role, choice.finish_reason], ["chat.completion", "chela", "assistant", "stop"]);
  assert.match(choice.message.content, /hello there$/);
  assert.ok(!choice.message.tool_calls?.length);
  assert.ok(answer.usage.prompt_tokens > 0 && answer.usage.completion_tokens > 0);
  assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens);
});

test("a stream", async () => {
  const chunks = await stream([user("hello there")]);
  assert.equal(new Set(chunks.map((chunk) => chunk.id)).size, 1);
  assert.deepEqual([...new Set(chunks.map((chunk) => chunk.object))], ["chat.completion.chunk"]);
  assert.equal(chunks[0].choices[0].delta.role, "assistant");
  assert.match(textOf(chunks), /hello there$/);
  assert.ok(chunks.filter((chunk) => chunk.choices[0].delta.content).length > 1);
  assert.deepEqual(chunks.map((chunk) => chunk.choices[0].finish_reason).filter(Boolean), ["stop"]);
});

test("usage in a stream", async () => {
  const chunks = await stream([user("hello")], { stream_options: { include_usage: true } });
  assert.deepEqual(chunks.at(-1).choices, []);
  assert.ok(chunks.at(-1).usage.total_tokens > 0);
  assert.ok(chunks.slice(0, -1).every((chunk) => !chunk.usage));
});

test("the agent uses its own tools", async () => {
  await script(toolsThen("it is 391", call("calculator", { expression: "17*23" })));
  const { choices } = await chat([user("What is 17*23?")]);
  assert.deepEqual([choices[0].message.content, choices[0].finish_reason], ["it is 391", "stop"]);
  assert.ok(!choices[0].message.tool_calls?.length);
});

test("text before a tool is a paragraph", async () => {
  const replies = { replies: [{ text: "Let me see.", tool_calls: [call("echo", { message: "x" })] }, { text: "Here it is." }] };
  await script(replies);
  assert.equal((await chat([user("look")])).choices[0].message.content, "Let me see.\n\nHere it is.");
  await script(replies);
  assert.equal(textOf(await stream([user("look again")])), "Let me see.\n\nHere it is.");
});

test("a plain conversation goes on in one thread", async () => {
  const said = ["my name is Ada", "what is my name?", "thanks"];
  const messages = [];
  const threads = new Set();
  for (const text of said) {
    messages.push(user(text));
    const { data, response } = await chat(messages).withResponse();
    threads.add(response.headers.get("x-chela-thread"));
    messages.push({ role: "assistant", content: data.choices[0].message.content });
  }
  assert.equal(threads.size, 1);
  const { turns } = await api(`/api/chat/history?thread_id=${[...threads][0]}`);
  assert.deepEqual(turns.map((turn) => turn.user_input), said);
});

test("an unknown history begins a thread of its own", async () => {
  await chat([user("what is the code?"), { role: "assistant", content: "It is 1234." }, user("say it again")]);
  const sent = (await bodies()).at(-1).messages;
  assert.deepEqual(sent.map((each) => each.role), ["system", "user", "assistant", "user"]);
  assert.equal(sent[2].content, "It is 1234.");
  assert.match(sent[3].content, /say it again$/);
});

test("a thread can be named", async () => {
  const { id } = await api("/api/chat/thread/new", {});
  await client.chat.completions.create({ model: "chela", messages: [user("one")] }, { headers: { "X-Chela-Thread": id } });
  await chat([user("two")], { metadata: { thread_id: id } });
  const { turns } = await api(`/api/chat/history?thread_id=${id}`);
  assert.deepEqual(turns.map((turn) => turn.user_input), ["one", "two"]);
  const wrong = client.chat.completions.create({ model: "chela", messages: [user("three")] }, { headers: { "X-Chela-Thread": "nonsense" } });
  await assert.rejects(wrong, OpenAI.NotFoundError);
});

test("the client's system text comes after ours", async () => {
  await chat([{ role: "system", content: "Answer like a pirate." }, user("hello")]);
  const system = (await bodies()).at(-1).messages[0].content;
  assert.match(system, /Chela[^]*Answer like a pirate\.$/);
});

test("sampling reaches the model", async () => {
  await chat([user("hello")], { temperature: 0.25, max_tokens: 17 });
  const body = (await bodies()).at(-1);
  assert.equal(body.temperature, 0.25);
  assert.ok([body.max_tokens, body.max_completion_tokens].includes(17));
});

test("content parts of text", async () => {
  const parts = [{ type: "text", text: "hello" }, { type: "text", text: "there" }];
  assert.ok((await chat([user(parts)])).choices[0].message.content.includes("hello\nthere"));
});

test("the model itself is a model too", async () => {
  const answer = await chat([{ role: "system", content: "raw" }, user("hello")], { model: "scripted", seed: 7, unknown_field: { kept: true } });
  assert.equal(answer.choices[0].message.content, "echo: hello");
  const body = (await bodies()).at(-1);
  assert.deepEqual(body.messages.map((each) => each.role), ["system", "user"]);
  assert.deepEqual([body.seed, body.unknown_field, "tools" in body], [7, { kept: true }, false]);
});

test("the model itself streams", async () => {
  const chunks = await stream([user("hello")], { model: "scripted", stream_options: { include_usage: true } });
  assert.equal(textOf(chunks), "echo: hello");
  assert.ok(chunks.at(-1).usage.total_tokens > 0);
});

test("models are listed", async () => {
  const names = [];
  for await (const each of client.models.list()) names.push(each.id);
  assert.deepEqual(names.slice(0, 2), ["chela", "chela/default"]);
  assert.ok(names.includes("scripted"));
  assert.equal((await client.models.retrieve("chela")).owned_by, "chela");
  await assert.rejects(client.models.retrieve("nonsense"), OpenAI.NotFoundError);
});

test("an agent by its name", async () => {
  assert.equal((await chat([user("hello")], { model: "chela/default" })).model, "chela/default");
});

test("several at once", async () => {
  const answers = await Promise.all([...Array(8).keys()].map((n) => chat([user(`message ${n}`)])));
  answers.forEach((answer, n) => assert.ok(answer.choices[0].message.content.endsWith(`message ${n}`)));
});

test("a stream that is left does not hold the engine up", async () => {
  const left = await chat([user("hello out there")], { stream: true });
  left.controller.abort();
  assert.match((await chat([user("and again")])).choices[0].message.content, /and again$/);
});
