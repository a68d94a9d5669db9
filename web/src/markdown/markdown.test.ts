import { describe, expect, it } from 'vitest';
import { Drawing } from './draw.ts';
import { blocks } from './parse.ts';
import { sanitize } from './sanitize.ts';

function html(source: string): string {
  const target = document.createElement('div');
  new Drawing(target).draw(source, true);
  return target.innerHTML;
}
function dom(markup: string): HTMLElement {
  const target = document.createElement('div');
  target.append(sanitize(markup));
  return target;
}

describe('markup of a model', () => {
  it.each([
    '<script>alert(1)</script>text',
    '<img src=x onerror=alert(1)>',
    '<svg onload=alert(1)><script>alert(1)</script></svg>',
    '<iframe src="javascript:alert(1)"></iframe>',
    '<a href="javascript:alert(1)">x</a>',
    '<a href="JaVaScRiPt&colon;alert(1)">x</a>',
    '<a href="data:text/html,<script>alert(1)</script>">x</a>',
    '<form action="/api/chat/send"><input name=q><button>go</button></form>',
    '<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mglyph></table></mtext></math>',
    '<style>body{display:none}</style>',
    '<div style="position:fixed;inset:0">x</div>',
    '<object data="x"></object><embed src="x"><base href="//evil.example/"><meta http-equiv=refresh content="0;url=//evil.example">',
    '<video src=x onloadstart=alert(1)></video><audio src=x></audio><link rel=stylesheet href=//evil.example/x.css>',
    '<button class="copy-code" onclick="alert(1)">Copy</button>',
    '<p id="chat-input" name="eventSource" data-x="1" aria-label="y">clobber</p>',
    '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
    '[x](javascript:alert(1)) ![x](javascript:alert(1))',
    '<template><script>alert(1)</script></template><slot></slot>',
  ])('runs nothing: %s', (source) => {
    for (const element of dom(html(source)).querySelectorAll('*')) {
      expect(['SCRIPT', 'STYLE', 'IFRAME', 'SVG', 'MATH', 'FORM', 'INPUT', 'OBJECT', 'EMBED', 'BASE', 'META', 'LINK', 'VIDEO', 'AUDIO', 'TEMPLATE', 'BUTTON']).not.toContain(element.tagName.toUpperCase());
    }
    const target = document.createElement('div');
    new Drawing(target).draw(source, true);
    for (const element of target.querySelectorAll('*')) {
      for (const name of element.getAttributeNames()) {
        expect(name).not.toMatch(/^on|^style$|^id$|^name$|^data-|^aria-|^srcset$/);
        if (name === 'href') expect(element.getAttribute(name)).toMatch(/^(https?:\/\/|mailto:)/i);
        if (name === 'src') expect(element.getAttribute(name)).toMatch(/^data:image\//);
      }
      expect(element.tagName).not.toBe('SCRIPT');
    }
  });

  it('loads no image from elsewhere', () => {
    for (const source of ['![cat](https://evil.example/cat.png?who=1)', '<img src="http://evil.example/x.png" srcset="//evil.example/y 2x">', '<img src="/api/chat/history">', '![x](//evil.example/x.png)']) {
      const target = document.createElement('div');
      new Drawing(target).draw(source, false);
      expect(target.querySelector('img')).toBeNull();
    }
    const target = document.createElement('div');
    new Drawing(target).draw('![cat](https://pictures.example/cat.png)', false);
    const link = target.querySelector('a.image-elsewhere')!;
    expect(link.getAttribute('rel')).toContain('noopener');
    expect(link.textContent).toContain('pictures.example');
  });

  it('shows pictures that are in the text itself, of safe kinds', () => {
    expect(dom('<img src="data:image/png;base64,iVBORw0KGgo=" alt="dot">').querySelector('img')?.getAttribute('alt')).toBe('dot');
    expect(dom('<img src="data:image/svg+xml;base64,PHN2Zz4=">').querySelector('img')).toBeNull();
    expect(dom('<img src="data:text/html;base64,PGI+">').querySelector('img')).toBeNull();
  });

  it('opens links elsewhere without telling where from', () => {
    const link = dom('<a href="https://example.org/">x</a>').querySelector('a')!;
    expect([link.target, link.rel]).toEqual(['_blank', 'noopener noreferrer nofollow']);
    expect(dom('<a href="/api/tokens">x</a>').querySelector('a')!.hasAttribute('href')).toBe(false);
  });

  it('keeps only the classes that colours need', () => {
    expect(dom('<code class="language-js copy-code message user">x</code>').innerHTML).toBe('<code class="language-js">x</code>');
    expect(dom('<span class="approval-card">x</span>').innerHTML).toBe('<span>x</span>');
  });
});

describe('Markdown', () => {
  it('is drawn', () => {
    const made = html('# Title\n\n- a\n- **b**\n\n| x | y |\n| :-: | --: |\n| 1 | 2 |\n\n`code`');
    for (const part of ['<h1>Title</h1>', '<strong>b</strong>', '<th align="center">x</th>', '<td align="right">2</td>', '<code>code</code>']) expect(made).toContain(part);
    expect(made).not.toContain('style=');
  });
  it('comes in blocks, each whole', () => {
    expect(blocks('a\n\nb\n\n- c\n- d\n\n> e')).toHaveLength(4);
    expect(blocks('')).toEqual([]);
  });
  it('has a head with a copy button on code', () => {
    const made = html('```python\nprint(1)\n```');
    expect(made).toContain('class="copy-code"');
    expect(made).toContain('<span>python</span>');
  });
  it('that grows changes only the blocks that changed', () => {
    const target = document.createElement('div');
    const drawing = new Drawing(target);
    drawing.draw('one\n\ntwo', true);
    const [first, second] = [...target.children];
    drawing.draw('one\n\ntwo and more\n\nthree', true);
    expect(target.children[0]).toBe(first);
    expect(target.children[1]).not.toBe(second);
    expect(target.textContent).toBe('one\ntwo and more\nthree\n'.replaceAll('\n', target.textContent!.includes('\n') ? '\n' : ''));
    drawing.draw('other', false);
    expect(target.children).toHaveLength(1);
  });
  it('in any number of pieces ends as in one', () => {
    const source = 'Intro with [link][1]\n\n```js\nlet a = 1\n```\n\n1. x\n2. y\n\n[1]: https://example.org/';
    const target = document.createElement('div');
    const drawing = new Drawing(target);
    for (let length = 1; length <= source.length; ++length) drawing.draw(source.slice(0, length), true);
    expect(target.innerHTML).toBe(html(source));
  });
});
