// The client's own tools, and approvals.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import OpenAI from "openai";

import { api, bodies, call, chat, client, script, stream, textOf, toolsThen, user } from "./client.mjs";

const WEATHER = {
  type: "function",
  function: {
    name: "weather",
    description: "the weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};
const WRITE = toolsThen("all done", call("write_file", { path: "plain.txt", content: "hello" }));
const result = (id, content) => ({ role: "tool", tool_call_id: id, content });

beforeEach(() => script({}));

test("a tool round trip", async () => {
  await script(toolsThen("It rains in Rome.", call("weather", { city: "Rome" }, "w1")));
  const messages = [user("How is the weather in Rome?")];
  const answer = (await chat(messages, { tools: [WEATHER] })).choices[0];
  assert.equal(answer.finish_reason, "tool_calls");
  const [wanted] = answer.message.tool_calls;
  assert.deepEqual([wanted.id, wanted.function.name, JSON.parse(wanted.function.arguments)], ["w1", "weather", { city: "Rome" }]);
  const offered = (await bodies())[0].tools.map((each) => each.function.name);
  assert.ok(offered.includes("weather") && offered.includes("calculator"));

  messages.push(answer.message, result("w1", "rain, 12 degrees"));
  const final = (await chat(messages, { tools: [WEATHER] })).choices[0];
  assert.deepEqual([final.finish_reason, final.message.content], ["stop", "It rains in Rome."]);
  const told = (await bodies()).at(-1).messages.filter((each) => each.role === "tool");
  assert.deepEqual(told.map((each) => each.content), ["rain, 12 degrees"]);

  messages.push(final.message, user("Thank you"));
  await script({});
  assert.match((await chat(messages, { tools: [WEATHER] })).choices[0].message.content, /Thank you$/);
  assert.deepEqual((await bodies()).at(-1).messages.map((each) => each.role), ["system", "user", "assistant", "tool", "assistant", "user"]);
});

test("a tool round trip in a stream", async () => {
  await script(toolsThen("It rains.", call("weather", { city: "Oslo" }, "w2")));
  const messages = [user("weather of Oslo?")];
  const final = await client.chat.completions.stream({ model: "chela", messages, tools: [WEATHER] }).finalChatCompletion();
  const [answer] = final.choices;
  assert.deepEqual([answer.finish_reason, answer.message.tool_calls[0].id], ["tool_calls", "w2"]);
  const asked = { id: "w2", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } };
  messages.push({ role: "assistant", tool_calls: [asked] }, result("w2", "rain"));
  assert.equal(textOf(await stream(messages, { tools: [WEATHER] })), "It rains.");
});

test("parallel calls and own tools in one answer", async () => {
  const calls = [call("weather", { city: "A" }, "a"), call("calculator", { expression: "6*7" }, "b"), call("weather", { city: "C" }, "c")];
  await script(toolsThen("done", ...calls));
  const messages = [user("all of it")];
  const answer = (await chat(messages, { tools: [WEATHER] })).choices[0];
  assert.deepEqual(answer.message.tool_calls.map((each) => each.id), ["a", "c"]);
  messages.push(answer.message, result("c", "cold"), result("a", "warm"));
  assert.equal((await chat(messages, { tools: [WEATHER] })).choices[0].message.content, "done");
  const told = Object.fromEntries((await bodies()).at(-1).messages.filter((each) => each.role === "tool").map((each) => [each.tool_call_id, each.content]));
  assert.deepEqual([told.a, told.c], ["warm", "cold"]);
  assert.match(told.b, /42/);
});

test("the client's helper runs its tools by itself", async () => {
  await script(toolsThen("It rains.", call("weather", { city: "Bern" }, "w3")));
  const cities = [];
  const tool = { ...WEATHER, function: { ...WEATHER.function, parse: JSON.parse, function: ({ city }) => (cities.push(city), "rain") } };
  const runner = client.chat.completions.runTools({ model: "chela", messages: [user("weather of Bern?")], tools: [tool] });
  assert.equal(await runner.finalContent(), "It rains.");
  assert.deepEqual(cities, ["Bern"]);
});

test("results nobody waits for are 404", async () => {
  const asked = { id: "zz", type: "function", function: { name: "weather", arguments: "{}" } };
  const messages = [user("hm"), { role: "assistant", tool_calls: [asked] }, result("zz", "rain")];
  await assert.rejects(chat(messages, { tools: [WEATHER] }), OpenAI.NotFoundError);
});

for (const word of ["yes", "no"]) {
  test(`a plain ${word} answers a pending approval`, async () => {
    await script(WRITE);
    const messages = [user(`write it in Node (${word})`)];
    const asked = await chat(messages);
    const [choice] = asked.choices;
    assert.equal(choice.finish_reason, "stop");
    assert.match(choice.message.content, /write_file[^]*plain\.txt/);
    assert.equal(asked.approval.tool_name, "write_file");
    assert.equal(JSON.parse(asked.approval.parameters).path, "plain.txt");
    messages.push(choice.message, user(word));
    const answer = await chat(messages);
    assert.equal(answer.choices[0].message.content, "all done");
    assert.equal(answer.approval, undefined);
    const results = (await bodies()).at(-1).messages.filter((each) => each.role === "tool");
    assert.equal(results.length, 1);
    assert.equal(/\bdid not allow\b|\bdenied\b|\bdeclined\b|\brefused\b/i.test(results[0].content), word === "no", results[0].content);
  });
}

test("an approval in a stream", async () => {
  await script(WRITE);
  const messages = [user("write it in a stream of Node")];
  const chunks = await stream(messages);
  assert.match(textOf(chunks), /write_file/);
  assert.deepEqual([chunks.at(-1).choices[0].finish_reason, chunks.at(-1).approval.tool_name], ["stop", "write_file"]);
  messages.push({ role: "assistant", content: textOf(chunks) }, user("yes"));
  assert.equal(textOf(await stream(messages)), "all done");
});

test("a call can wait for the answer from elsewhere", async () => {
  await script(WRITE);
  const { id } = await api("/api/chat/thread/new", {});
  const headers = { "X-Chela-Approvals": "wait", "X-Chela-Thread": id };
  const waiting = client.chat.completions.create({ model: "chela", messages: [user("write and wait")] }, { headers });
  let pending;
  while (!pending) pending = (await api(`/api/chat/history?thread_id=${id}`)).pending_approval;
  await api("/api/chat/approval", { request_id: pending.request_id, action: "approve" });
  assert.equal((await waiting).choices[0].message.content, "all done");
});
