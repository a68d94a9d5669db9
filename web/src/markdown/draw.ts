import { highlight } from './highlight.ts';
import { blocks } from './parse.ts';
import { sanitize } from './sanitize.ts';

// Puts Markdown into an element and keeps it up to date while it grows: only blocks that changed are made anew, so that a long answer costs
// no more at its end than at its beginning, and a selection in it stays.

export class Drawing {
  #target: Element;
  #shown: string[] = [];
  #elements: HTMLElement[] = [];
  #coloured: boolean[] = [];

  constructor(target: Element) {
    this.#target = target;
  }

  // `growing`: the last block may change yet, so it gets no colours.
  draw(source: string, growing: boolean): void {
    const next = blocks(source);
    next.forEach((html, index) => {
      if (this.#shown[index] !== html) this.#replace(index, html);
      if (!growing || index < next.length - 1) this.#colour(index);
    });
    while (this.#elements.length > next.length) this.#elements.pop()!.remove();
    this.#shown = next;
    this.#coloured.length = next.length;
  }

  #replace(index: number, html: string): void {
    const element = document.createElement('div');
    element.className = 'block';
    element.append(sanitize(html));
    for (const pre of element.querySelectorAll('pre')) frame(pre);
    const before = this.#elements[index];
    if (before) before.replaceWith(element);
    else this.#target.append(element);
    this.#elements[index] = element;
    this.#coloured[index] = false;
  }

  #colour(index: number): void {
    if (this.#coloured[index]) return;
    this.#coloured[index] = true;
    for (const code of this.#elements[index]!.querySelectorAll('pre > code[class^="language-"]')) {
      // Without its colours the code is as good: a lost connection is no reason to disturb.
      highlight(code, code.className.slice('language-'.length)).catch(() => {});
    }
  }
}

// The head of a code block: its language and a button that copies it. Made after sanitising, so no text can bring one of its own.
function frame(pre: Element): void {
  const language = pre.querySelector('code[class^="language-"]')?.className.slice('language-'.length) ?? '';
  const box = document.createElement('div');
  box.className = 'code-box';
  const head = document.createElement('div');
  head.className = 'code-head';
  const label = document.createElement('span');
  label.textContent = language;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy-code';
  button.textContent = 'Copy';
  button.addEventListener('click', () => void copy(button, pre.textContent ?? ''));
  head.append(label, button);
  pre.replaceWith(box);
  pre.setAttribute('tabindex', '0');
  box.append(head, pre);
}

const SHOWN_MS = 1500;

async function copy(button: HTMLButtonElement, text: string): Promise<void> {
  button.textContent = (await copyText(text)) ? 'Copied' : 'Not allowed';
  setTimeout(() => (button.textContent = 'Copy'), SHOWN_MS);
}

// The clipboard needs a secure page (https or this machine); elsewhere a selection does it.
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'visually-hidden';
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}
