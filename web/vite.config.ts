import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

// The page is served from the program with a policy that allows nothing inline and nothing from other hosts: so no file may be
// turned into a data: address and no script into the document.
export default defineConfig({
  plugins: [svelte()],
  cacheDir: process.env.CHELA_WEB_TEMP ?? 'generated/vite',
  // Unit tests run in Node, where a package would show its server's side.
  ...(process.env.VITEST ? { resolve: { conditions: ['browser'] } } : {}),
  build: {
    target: 'es2022',
    outDir: process.env.CHELA_WEB_OUT ?? 'generated/dist',
    emptyOutDir: true,
    manifest: 'manifest.json',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  // One worker with one document: starting them costs more than all tests do. How long a test takes is no question of a busy machine's.
  test: { environment: 'jsdom', include: ['src/**/*.test.ts'], fileParallelism: false, isolate: false, testTimeout: 120_000, hookTimeout: 120_000 },
});
