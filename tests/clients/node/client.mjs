// What the tests share: the official client, and the scripted model behind the engine.
import OpenAI from "openai";

const engine = process.env.CHELA_ENGINE; // http://127.0.0.1:<port>
const model = process.env.CHELA_MODEL;
export const token = process.env.CHELA_TOKEN;

export const connect = (apiKey = token) => new OpenAI({ baseURL: `${engine}/v1`, apiKey, maxRetries: 0, timeout: 60_000 });
export const client = connect();

async function json(url, init = {}) {
  const answer = await fetch(url, init);
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

const post = (body, headers = {}) => ({ method: "POST", headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) });

// A new script from its beginning; earlier requests are forgotten.
export async function script(value) {
  await json(`${model}/_script`, post(value));
  await json(`${model}/_reset`, post({}));
}

// The requests to this path that the model has got.
export async function requests(path) {
  const seen = await json(`${model}/_requests`);
  return seen.requests.filter((each) => each.path === path);
}

// Bodies of the chat requests among them.
export const bodies = async () => (await requests("/v1/chat/completions")).map((each) => each.body);

export const api = (path, body) =>
  json(`${engine}${path}`, body === undefined ? { headers: { Authorization: `Bearer ${token}` } } : post(body, { Authorization: `Bearer ${token}` }));

export const user = (content) => ({ role: "user", content });
export const call = (name, args, id) => (id ? { name, arguments: args, id } : { name, arguments: args });

// The calls first, then the text once their results are there.
export const toolsThen = (text, ...calls) => ({
  rules: [
    { when: { last_role: "tool" }, reply: { text } },
    { when: { last_role: "user" }, reply: { tool_calls: calls } },
  ],
});

export async function collect(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

export const textOf = (chunks) => chunks.map((chunk) => chunk.choices[0]?.delta?.content ?? "").join("");
export const chat = (messages, more = {}, by = client) => by.chat.completions.create({ model: "chela", messages, ...more });
export const stream = async (messages, more = {}, by = client) => collect(await chat(messages, { stream: true, ...more }, by));
