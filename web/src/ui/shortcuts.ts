import { app, TABS } from '../state/app.svelte.ts';
import { chat } from '../state/chat.svelte.ts';
import { threads } from '../state/threads.svelte.ts';

export const SHORTCUTS = [
  ['Enter', 'send the message'],
  ['Shift + Enter', 'new line'],
  ['/', 'commands, in an empty message'],
  ['Arrow up', 'edit your last message, in an empty message'],
  ['Esc', 'stop the answer; close what is open'],
  ['Ctrl + K', 'search threads'],
  ['Alt + N', 'new thread'],
  ['Alt + 1 to 9', 'parts of the page'],
  ['Ctrl + /', 'this list'],
] as const;

// Keys that act everywhere. A field that used Esc itself has stopped the event.
export function shortcut(event: KeyboardEvent): void {
  if (!app.loggedIn || event.defaultPrevented) return;
  const control = event.ctrlKey || event.metaKey;
  if (event.key === 'Escape') {
    if (app.help) app.help = false;
    else if (app.drawer) app.drawer = false;
    else if (app.tab === 'chat') void chat.stop();
    return;
  }
  if (control && event.key.toLowerCase() === 'k') {
    app.drawer = true;
    requestAnimationFrame(() => document.getElementById('thread-search')?.focus());
  } else if (control && event.key === '/') {
    app.help = !app.help;
  } else if (event.altKey && event.key.toLowerCase() === 'n') {
    app.show('chat');
    void threads.create();
  } else if (event.altKey && TABS[Number(event.key) - 1]) {
    app.show(TABS[Number(event.key) - 1]!);
  } else {
    return;
  }
  event.preventDefault();
}
