// One worker made with the npm SDK of a given version: node node_worker.mjs MODULES VERSION URL NAME.
// Commands come as JSON lines on stdin, {"id", "do", ...}; each is answered on stdout by {"id", "value"} or {"id", "error"}.
// What the SDK prints goes to stderr.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createRequire } from "node:module";
import readline from "node:readline";

const [modules, version, url, name] = process.argv.slice(2);
for (const level of ["debug", "info", "log", "warn"]) console[level] = console.error;

const load = createRequire(`${modules}/package.json`);
const sdk = load(`iii-sdk-${version}`);
const old = version === "0.3.0";
const ids_in_objects = old || version === "0.9.0"; // registerFunction({id}, ...) until 0.9
const reconnectionConfig = { initialDelayMs: 20, backoffMultiplier: 1, maxDelayMs: 20, jitterFactor: 0, maxRetries: -1 };
const worker = (old ? sdk.init : sdk.registerWorker)(url, { workerName: name, reconnectionConfig });

const seen = {}; // by function: what its handler was called with
const order = []; // functions as they were called
const retried = new Set();
const functions = {};
const triggers = {};
const refs = {}; // of trigger types
const streams = {}; // items by "<group>::<item>"
const instances = {}; // of our trigger type: id -> function

const kinds = {
  echo: (data) => ({ from: name, data }),
  fail: () => { throw new Error("this one fails"); },
  hang: () => new Promise(() => {}),
  nothing: () => undefined,
  second_time: (data) => {
    const before = retried.has(data.n);
    retried.add(data.n);
    if (!before) throw new Error("try again");
    return true;
  },
  recall: (data) => [{ content: `recalled by ${name}: ${data.query}` }],
  complete: () => ({ content: `answered by ${name}` }),
  text: () => "a text",
  xml: () => ({ status_code: 200, headers: { "Content-Type": "text/xml" }, body: "<note>größe</note>" }),
  missing: () => ({ status_code: 404, body: { error: "no such thing" } }),
  // What came parsed, and as the bytes of the request.
  both: async ({ body, request_body }) => ({ body: { parsed: body, raw: String(await request_body.readAll()) } }),
  refuse: () => ({ unauthorized: true }),
  admit: () => ({ context: { user: "somebody" } }),
  nested: async (data) => ({ from: name, inner: await call(data.next, data.data) }),
  page: (data) => ({ status_code: 201, headers: { "X-From": name }, body: { path: data.path_params, query: data.query_params, body: data.body } }),
  // Middleware and conditions.
  go_on: () => ({ action: "continue" }),
  block: () => ({ action: "respond", response: { status_code: 403, body: { error: `blocked by ${name}` } } }),
  odd: (data) => data.n % 2 === 1,
  // Hands what is left of a chain to a queue.
  hand_on: ({ chain: [next, ...chain], ...rest }) =>
    commands.enqueue({ function_id: next, payload: { ...rest, chain }, queue: "default" }),
  // Answers through the channel of its response: events one by one, or what the request brought.
  events: ({ response }) => {
    begin(response, 200, "text/event-stream");
    for (let n = 0; n < 3; ++n) response.stream.write(`data: ${n}\n\n`);
    response.stream.end();
  },
  mirror: async ({ request_body, response, headers }) => {
    const bytes = await request_body.readAll();
    begin(response, 202, headers["content-type"]);
    response.stream.end(bytes);
  },
  // Takes a body as it comes, and what was said beside it.
  measure: async ({ request_body }) => {
    const hash = createHash("sha256"), told = [];
    let bytes = 0;
    request_body.onMessage((text) => told.push(JSON.parse(text).error.code));
    for await (const piece of request_body.stream) {
      hash.update(piece);
      bytes += piece.length;
    }
    const report = { bytes, sha256: hash.digest("hex"), told };
    (seen.reports ??= []).push(report);
    return { body: report };
  },
  // Answers with what comes while it comes.
  relay: ({ request_body, response, headers }) => {
    begin(response, 200, headers["content-type"]);
    request_body.stream.pipe(response.stream);
  },
  // Looks at no body.
  ignore: () => ({ body: "ignored" }),
  // Reads a channel to its end.
  collect: async (data) => {
    const messages = [];
    data.reader.onMessage((text) => messages.push(text));
    return { ...digest(await data.reader.readAll()), messages };
  },
};

function begin(response, status_code, type) {
  response.sendMessage(JSON.stringify({ type: "set_status", status_code }));
  response.sendMessage(JSON.stringify({ type: "set_headers", headers: { "content-type": type } }));
}

function digest(bytes) { return { bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") }; }

function channel() {
  return version === "0.22.1" ? load("iii-sdk-0.22.1/helpers").createChannel(worker) : worker.createChannel();
}

function call(function_id, payload, timeoutMs) {
  return old ? worker.trigger(function_id, payload, timeoutMs) : worker.trigger({ function_id, payload, timeoutMs });
}

const commands = {
  register({ function_id, kind, metadata, request_format }) {
    const handler = async (data) => {
      (seen[function_id] ??= []).push(data);
      order.push(function_id);
      return kinds[kind](data);
    };
    const options = { description: `${kind} of ${name}`, metadata, request_format };
    functions[function_id] = ids_in_objects
      ? worker.registerFunction({ id: function_id, ...options }, handler)
      : worker.registerFunction(function_id, handler, options);
  },
  // A function that the engine calls over HTTP.
  register_http({ function_id, ...invocation }) {
    functions[function_id] = ids_in_objects
      ? worker.registerFunction({ id: function_id }, invocation)
      : worker.registerFunction(function_id, invocation);
  },
  unregister({ function_id }) { functions[function_id].unregister(); },
  call: ({ function_id, payload, timeout }) => call(function_id, payload, timeout),
  void({ function_id, payload }) {
    if (old) worker.triggerVoid(function_id, payload);
    else return worker.trigger({ function_id, payload, action: sdk.TriggerAction.Void() });
  },
  enqueue: ({ function_id, payload, queue }) =>
    worker.trigger({ function_id, payload, action: sdk.TriggerAction.Enqueue({ queue }) }),
  // Calls a function with the reader of a new channel and writes into it meanwhile.
  async stream_to({ function_id, bytes }) {
    const made = await channel(), data = Buffer.alloc(bytes, "chela");
    const answer = call(function_id, { reader: made.readerRef });
    made.writer.sendMessage("begin");
    made.writer.stream.end(data);
    return { answer: await answer, sent: digest(data) };
  },
  // The same in pieces, held back by what the writer says of itself.
  async stream_pieces({ function_id, pieces, bytes }) {
    const made = await channel();
    const answer = call(function_id, { reader: made.readerRef });
    for (let n = 0; n < pieces; ++n) {
      if (!made.writer.stream.write(Buffer.alloc(bytes, String(n % 10)))) await once(made.writer.stream, "drain");
    }
    made.writer.stream.end();
    return answer;
  },
  seen: ({ function_id }) => seen[function_id] ?? [],
  order: () => order,
  trigger({ key, type, function_id, config }) {
    triggers[key] = worker.registerTrigger({ type, function_id, config });
  },
  end_trigger({ key }) { triggers[key].unregister(); },
  trigger_type({ type }) {
    refs[type] = worker.registerTriggerType({ id: type, description: `of ${name}` }, {
      registerTrigger: async (one) => { instances[one.id] = one.function_id; },
      unregisterTrigger: async (one) => { delete instances[one.id]; },
    });
  },
  // What registerTriggerType() gives since 0.11 can register triggers of the type, and functions with them.
  trigger_by_type({ type, function_id, config }) { refs[type].registerTrigger(function_id, config); },
  function_by_type({ type, function_id, config }) {
    refs[type].registerFunction(function_id, async (data) => ({ from: name, data }), config);
  },
  end_trigger_type({ type }) { refs[type].unregister(); },
  create_stream({ stream }) {
    const items = streams[stream] = {};
    const at = ({ group_id, item_id }) => `${group_id}::${item_id}`;
    const helper = (...all) => load(`iii-sdk-${version}/helpers`).createStream(worker, ...all); // since 0.22
    (worker.createStream?.bind(worker) ?? helper)(stream, {
      get: async (input) => items[at(input)],
      set: async (input) => {
        const old_value = items[at(input)];
        items[at(input)] = input.data;
        return { old_value, new_value: input.data };
      },
      delete: async (input) => {
        const old_value = items[at(input)];
        delete items[at(input)];
        return { old_value };
      },
      list: async ({ group_id }) => Object.keys(items).filter((key) => key.startsWith(`${group_id}::`)).map((key) => items[key]),
      listGroups: async () => [...new Set(Object.keys(items).map((key) => key.split("::")[0]))],
      update: async () => { throw new Error("not here"); },
    });
  },
  stream_items: ({ stream }) => streams[stream],
  instances: () => Object.values(instances),
  async fire({ payload }) { for (const id of Object.values(instances)) await commands.void({ function_id: id, payload }); },
  shutdown: () => worker.shutdown(),
};

function say(message) { process.stdout.write(`${JSON.stringify(message)}\n`); }

readline.createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, do: what, ...rest } = JSON.parse(line);
  try {
    say({ id, value: (await commands[what](rest)) ?? null });
  } catch (error) {
    say({ id, error: { message: String(error?.message ?? error), code: error?.code ?? null } });
  }
}).on("close", () => process.exit(0));
