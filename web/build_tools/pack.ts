// Makes of vite's output what the program embeds: node pack.ts DIST OUT
//   OUT/files/N, OUT/files/N.gz    each file plain and compressed
//   OUT/page.S, OUT/page_files.cc  the bytes as read-only data, and the table of them
// Fails when what a browser loads first has grown beyond the budget.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const FIRST_LOAD_BYTES = 150_000;
const TYPES: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

interface Chunk {
  file: string;
  isEntry?: boolean;
  imports?: string[];
  css?: string[];
  assets?: string[];
}

const [, , dist, out] = process.argv;
if (!dist || !out) throw new Error('usage: pack.ts DIST OUT');

const manifest = JSON.parse(readFileSync(join(dist, 'manifest.json'), 'utf8')) as Record<string, Chunk>;

// The document, its entry, and all that these load without being asked to.
function firstLoad(): Set<string> {
  const files = new Set<string>(['index.html']);
  const visit = (name: string): void => {
    const chunk = manifest[name];
    if (!chunk || files.has(chunk.file)) return;
    for (const each of [chunk.file, ...(chunk.css ?? []), ...(chunk.assets ?? [])]) files.add(each);
    (chunk.imports ?? []).forEach(visit);
  };
  for (const [name, chunk] of Object.entries(manifest)) if (chunk.isEntry) visit(name);
  return files;
}

rmSync(out, { recursive: true, force: true });
mkdirSync(join(out, 'files'), { recursive: true });
const names = ['index.html', ...readdirSync(join(dist, 'assets')).sort().map((name) => `assets/${name}`)];
const first = firstLoad();
let firstBytes = 0;
const assembly = ['  .section .rodata.chela_page, "a", @progbits'];
const declarations: string[] = [];
const table: string[] = [];
names.forEach((name, number) => {
  const bytes = readFileSync(join(dist, name));
  const compressed = gzipSync(bytes, { level: 9 });
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1)];
  if (!type) throw new Error(`${name}: no media type is known for it`);
  if (first.has(name)) firstBytes += compressed.length;
  writeFileSync(join(out, 'files', `${number}`), bytes);
  writeFileSync(join(out, 'files', `${number}.gz`), compressed);
  for (const [symbol, file] of [[`chela_page_${number}`, `${number}`], [`chela_page_${number}_gz`, `${number}.gz`]] as const) {
    assembly.push(`  .globl ${symbol}`, `${symbol}:`, `  .incbin "files/${file}"`);
    declarations.push(`extern const char ${symbol}[];`);
  }
  const etag = createHash('sha256').update(bytes).digest('hex').slice(0, 20);
  const path = name === 'index.html' ? '/' : `/${name}`;
  const lasting = name === 'index.html' ? 'kNo' : 'kYes';
  table.push(
    `    {"${path}", "${type}", "${etag}", Lasting::${lasting}, {chela_page_${number}, ${bytes.length}}, ` +
      `{chela_page_${number}_gz, ${compressed.length}}},`,
  );
});
assembly.push('  .section .note.GNU-stack, "", @progbits', '');
writeFileSync(join(out, 'page.S'), assembly.join('\n'));
writeFileSync(
  join(out, 'page_files.cc'),
  `// Made by web/build_tools/pack.ts.
#include "gateway/static_files.h"

extern "C" {
${declarations.join('\n')}
}

namespace chela::gateway {
namespace {
const StaticFile kFiles[] = {
${table.join('\n')}
};
}  // namespace

std::span<const StaticFile> page_files() { return kFiles; }

}  // namespace chela::gateway
`,
);
console.log(`first load: ${firstBytes} of ${FIRST_LOAD_BYTES} bytes compressed`);
if (firstBytes > FIRST_LOAD_BYTES) {
  console.error(`the first load is ${firstBytes - FIRST_LOAD_BYTES} bytes too large: load something later, or leave it out`);
  process.exit(1);
}
