import type { HLJSApi, LanguageFn } from 'highlight.js';
import { sanitize } from './sanitize.ts';

// Colours in code. The highlighter and each language are loaded when they first occur.

const LANGUAGES: Record<string, () => Promise<{ default: LanguageFn }>> = {
  bash: () => import('highlight.js/lib/languages/bash'),
  c: () => import('highlight.js/lib/languages/c'),
  cpp: () => import('highlight.js/lib/languages/cpp'),
  css: () => import('highlight.js/lib/languages/css'),
  diff: () => import('highlight.js/lib/languages/diff'),
  go: () => import('highlight.js/lib/languages/go'),
  ini: () => import('highlight.js/lib/languages/ini'),
  java: () => import('highlight.js/lib/languages/java'),
  javascript: () => import('highlight.js/lib/languages/javascript'),
  json: () => import('highlight.js/lib/languages/json'),
  markdown: () => import('highlight.js/lib/languages/markdown'),
  python: () => import('highlight.js/lib/languages/python'),
  rust: () => import('highlight.js/lib/languages/rust'),
  sql: () => import('highlight.js/lib/languages/sql'),
  typescript: () => import('highlight.js/lib/languages/typescript'),
  xml: () => import('highlight.js/lib/languages/xml'),
  yaml: () => import('highlight.js/lib/languages/yaml'),
};
const OTHER_NAMES: Record<string, string> = {
  sh: 'bash', shell: 'bash', zsh: 'bash', console: 'bash', 'c++': 'cpp', h: 'c', hpp: 'cpp', cc: 'cpp', patch: 'diff', golang: 'go', toml: 'ini', js: 'javascript',
  mjs: 'javascript', jsx: 'javascript', jsonc: 'json', md: 'markdown', py: 'python', python3: 'python', rs: 'rust', ts: 'typescript', tsx: 'typescript', html: 'xml',
  svg: 'xml', svelte: 'xml', yml: 'yaml',
};
const MAX_LENGTH = 50_000; // longer code stays without colours

let core: Promise<HLJSApi> | undefined;
const loaded = new Map<string, Promise<void>>();

export async function highlight(code: Element, language: string): Promise<void> {
  const name = OTHER_NAMES[language.toLowerCase()] ?? language.toLowerCase();
  const load = LANGUAGES[name];
  const source = code.textContent ?? '';
  if (!load || source.length > MAX_LENGTH) return;
  core ??= import('highlight.js/lib/core').then((module) => module.default);
  const hljs = await core;
  let ready = loaded.get(name);
  if (!ready) loaded.set(name, (ready = load().then((module) => hljs.registerLanguage(name, module.default))));
  await ready;
  if (code.textContent !== source) return;
  code.replaceChildren(sanitize(hljs.highlight(source, { language: name, ignoreIllegals: true }).value));
}
