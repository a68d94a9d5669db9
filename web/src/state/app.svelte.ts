import { offers, setToken, whenRefused } from '../api/client.ts';
import { logIn, logOut, takeToken } from '../api/session.ts';
import { chat } from './chat.svelte.ts';
import { connection } from './connection.svelte.ts';
import { threads } from './threads.svelte.ts';

// Which part of the page is seen, who is logged in, and light or dark.

export type Tab = 'chat' | 'memory' | 'jobs' | 'routines' | 'extensions' | 'skills' | 'settings' | 'logs' | 'usage';
// Each with an operation that it cannot do without.
const NEEDS: Record<Tab, string> = {
  chat: 'POST /api/chat/send', memory: 'GET /api/memory/tree', jobs: 'GET /api/chat/threads', routines: 'GET /api/bus/triggers',
  extensions: 'GET /api/tools', skills: 'POST /api/memory/search', settings: 'GET /api/settings', logs: 'GET /api/logs/events', usage: 'GET /api/usage',
};
export const TABS = (Object.keys(NEEDS) as Tab[]).filter((tab) => offers(NEEDS[tab]));
export type Theme = 'system' | 'light' | 'dark';

const THEME = 'chela.theme';

class App {
  loggedIn = $state(false);
  // What a person sees first is there, or the engine is away: the page is shown.
  ready = $state(false);
  loginError = $state('');
  tab = $state<Tab>('chat');
  drawer = $state(false);
  help = $state(false);
  theme = $state<Theme>('system');

  start(): void {
    const stored = localStorage.getItem(THEME);
    if (stored === 'light' || stored === 'dark') this.setTheme(stored);
    this.#readHash();
    addEventListener('hashchange', () => this.#readHash());
    addEventListener('online', () => connection.hurry());
    document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && connection.hurry());
    whenRefused(() => this.#refused());
    connection.whenOpen((again) => {
      void threads.load();
      // A stream that was taken up again tells what was missed; the first one has to be put on top of history.
      if (!again) void chat.open(chat.threadId).then(() => (this.ready = true));
    });
    connection.whenLost(() => (this.ready = true));
    const token = takeToken(location, history, sessionStorage);
    if (token) this.#enter(token);
  }

  logIn(token: string): void {
    this.loginError = '';
    logIn(token);
    this.#enter(token);
  }

  logOut(): void {
    connection.close();
    logOut();
    this.loggedIn = false;
  }

  show(tab: Tab): void {
    this.tab = tab;
    this.drawer = false;
    history.replaceState(history.state, '', tab === 'chat' ? location.pathname : `#${tab}`);
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    if (theme === 'system') {
      localStorage.removeItem(THEME);
      delete document.documentElement.dataset.theme;
    } else {
      localStorage.setItem(THEME, theme);
      document.documentElement.dataset.theme = theme;
    }
  }

  #enter(token: string): void {
    setToken(token);
    this.ready = false;
    this.loggedIn = true;
    connection.connect();
    threads.loadAgents().catch(() => {}); // the picker stays empty; what is wrong shows in the connection
  }

  #refused(): void {
    if (!this.loggedIn) return;
    this.logOut();
    this.loginError = 'The engine does not know this token. It is in gateway.token, and in the link that `chela run` prints.';
  }

  #readHash(): void {
    const name = location.hash.slice(1);
    this.tab = TABS.find((tab) => tab === name) ?? 'chat';
  }
}

export const app = new App();
