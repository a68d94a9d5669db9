// A worker that gives Chela's agents dice. III_URL is the bus, CHELA_TOKEN a token that allows bus:register.
import { randomInt } from "node:crypto";
import { registerWorker } from "iii-sdk";

type Roll = { count?: number; sides?: number };

const url = process.env.III_URL ?? "ws://127.0.0.1:49134";
const worker = registerWorker(url, {
  workerName: "example-dice",
  headers: { Authorization: `Bearer ${process.env.CHELA_TOKEN ?? ""}` },
  otel: { enabled: false }, // its own connection would send no token, and be refused again and again
});

worker.registerFunction(
  "tool::dice",
  async ({ count = 1, sides = 6 }: Roll) => {
    const rolls = Array.from({ length: count }, () => randomInt(1, sides + 1));
    return { rolls, sum: rolls.reduce((sum, each) => sum + each, 0) };
  },
  {
    description: "Rolls dice and gives each result and their sum. Use it whenever chance is asked for.",
    request_format: {
      type: "object",
      properties: {
        count: { type: "integer", minimum: 1, maximum: 100, description: "how many dice" },
        sides: { type: "integer", minimum: 2, maximum: 1000, description: "sides of each die" },
      },
      additionalProperties: false,
    },
    metadata: { approval: "never" },
  },
);
