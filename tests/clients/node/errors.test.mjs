// What the client throws, for requests that are wrong and models that fail.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import OpenAI from "openai";

import { api, bodies, chat, client, connect, script, stream, user } from "./client.mjs";

const HELLO = [user("hello")];

beforeEach(() => script({}));

async function fails(kind, request, by = client) {
  let thrown;
  await assert.rejects(async () => {
    try {
      await (request.stream ? stream(request.messages ?? HELLO, request, by) : chat(request.messages ?? HELLO, request, by));
    } catch (error) {
      thrown = error;
      throw error;
    }
  }, kind);
  assert.ok(thrown.error.message && thrown.error.type);
  return thrown;
}

const WRONG = [
  [{ messages: [] }, "messages"],
  [{ messages: "hello" }, "messages"],
  [{ messages: [{ role: "wizard", content: "x" }] }, "messages[0].role"],
  [{ messages: [{ role: "user", content: 7 }] }, "messages[0].content"],
  [{ messages: [{ role: "tool", content: "x" }] }, "messages[0].tool_call_id"],
  [{ messages: [...HELLO, { role: "assistant", content: "hi" }] }, "messages"],
  [{ model: "" }, "model"],
  [{ model: "x".repeat(300) }, "model"],
  [{ n: 2 }, "n"],
  [{ temperature: "hot" }, "temperature"],
  [{ max_tokens: 0 }, "max_tokens"],
  [{ tools: [{ type: "function", function: {} }] }, "tools[0].function"],
  [{ tool_choice: "perhaps" }, "tool_choice"],
];

test("a wrong request names what is wrong", async () => {
  for (const [request, param] of WRONG) {
    const error = await fails(OpenAI.BadRequestError, request);
    assert.deepEqual([error.param, error.type], [param, "invalid_request_error"]);
  }
  assert.deepEqual(await bodies(), []);
});

test("a wrong token", async () => {
  assert.equal((await fails(OpenAI.AuthenticationError, {}, connect("wrong"))).code, "auth_error");
});

test("a token without the permission", async () => {
  const { token } = await api("/api/tokens", { permissions: ["memory:read"] });
  await fails(OpenAI.PermissionDeniedError, {}, connect(token));
});

test("an unknown agent", async () => {
  const error = await fails(OpenAI.NotFoundError, { model: "chela/nobody" });
  assert.deepEqual([error.code, error.param], ["model_not_found", "model"]);
});

test("an unknown route", async () => {
  await assert.rejects(client.images.generate({ prompt: "a crab" }), OpenAI.NotFoundError);
});

test("a message that is too long", async () => {
  assert.equal((await fails(OpenAI.APIError, { messages: [user("x".repeat(100_001))] })).status, 413);
});

const BEHIND_US = [
  ["chela", { status: 400, error: { message: "no such thing" } }, OpenAI.BadRequestError, null],
  ["chela", { status: 401 }, OpenAI.InternalServerError, "upstream_auth"],
  ["chela", { status: 404 }, OpenAI.NotFoundError, "model_not_found"],
  ["chela", { status: 429, retry_after: "120" }, OpenAI.RateLimitError, "rate_limit"],
  ["scripted", { status: 403 }, OpenAI.InternalServerError, "upstream_auth"],
  ["scripted", { status: 404 }, OpenAI.NotFoundError, "model_not_found"],
  ["scripted", { status: 429, retry_after: "120" }, OpenAI.RateLimitError, "rate_limit"],
];
for (const [model, reply, kind, code] of BEHIND_US) {
  for (const way of ["answer", "stream"]) {
    test(`status ${reply.status} behind ${model}, asked for as ${way}`, async () => {
      await script({ default: reply });
      const error = await fails(kind, way === "stream" ? { model, stream: true } : { model });
      if (code) assert.equal(error.code, code);
      if (reply.retry_after) assert.equal(error.headers.get("retry-after"), "120");
    });
  }
}
