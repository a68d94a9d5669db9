import MarkdownIt from 'markdown-it';

// Markdown to markup, block by block. The markup is not safe yet: sanitize.ts comes next.

const engine = new MarkdownIt({ html: true, linkify: true, breaks: false, typographer: false });
engine.linkify.set({ fuzzyLink: false, fuzzyEmail: false });

// Alignment of a table's cells as an attribute: a style would be refused by the page's policy.
for (const rule of ['th_open', 'td_open'] as const) {
  engine.renderer.rules[rule] = (tokens, index, options, _env, self) => {
    const token = tokens[index]!;
    const align = /text-align:(left|center|right)/.exec(String(token.attrGet('style') ?? ''));
    token.attrs = (token.attrs ?? []).filter(([name]) => name !== 'style');
    if (align) token.attrSet('align', align[1]!);
    return self.renderToken(tokens, index, options);
  };
}

// One element for each block at the top level. While text is being written only the last ones change.
export function blocks(source: string): string[] {
  const env = {};
  const tokens = engine.parse(source, env);
  const out: string[] = [];
  let begin = 0;
  let depth = 0;
  tokens.forEach((token, index) => {
    depth += token.nesting;
    if (depth > 0) return;
    out.push(engine.renderer.render(tokens.slice(begin, index + 1), engine.options, env));
    begin = index + 1;
  });
  return out;
}
