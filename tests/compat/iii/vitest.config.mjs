// Runs the tests inside an npm package of iii-sdk against the package's own dist, which is what people install.
import { defineConfig } from "vitest/config";

const dist = process.env.SUITE_DIST;

export default defineConfig({
  resolve: {
    alias: [
      { find: /^\.\.\/src\/?(index)?$/, replacement: `${dist}/index.mjs` },
      { find: /^\.\.\/src\/(state|stream|telemetry)$/, replacement: `${dist}/$1.mjs` },
    ],
  },
  // One file after the other: they share function ids and ports.
  test: { globals: true, testTimeout: 30000, hookTimeout: 30000, setupFiles: ["./tests/setup.ts"], fileParallelism: false },
});
