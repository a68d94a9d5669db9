import { call, messageOf } from '../api/client.ts';
import type { ChatEvent, ThreadInfo } from '../chat/types.ts';
import { chat } from './chat.svelte.ts';
import { connection } from './connection.svelte.ts';

// The list of threads beside the chat, and which of them wants something.

const REFRESH_MS = 250;

export function nameOf(thread: ThreadInfo): string {
  return thread.title || (thread.thread_type === 'assistant' ? 'Assistant' : 'New thread');
}

class Threads {
  list = $state<ThreadInfo[]>([]);
  assistant = $state<ThreadInfo | null>(null);
  query = $state('');
  error = $state('');
  agents = $state<Array<{ name: string; description?: string; model?: string }>>([]);
  agent = $state(''); // for the next new thread; "" is the default one

  #timer: ReturnType<typeof setTimeout> | undefined;

  async load(): Promise<void> {
    const query = this.query.trim();
    try {
      const answer = await call('GET /api/chat/threads', { limit: 100, q: query });
      if (query !== this.query.trim()) return;
      this.list = answer.threads;
      // The pinned one comes with every answer.
      const pinned = answer.assistant_thread;
      this.assistant = pinned && nameOf(pinned).toLowerCase().includes(query.toLowerCase()) ? pinned : null;
      this.error = '';
    } catch (error) {
      this.error = messageOf(error);
    }
  }

  async loadAgents(): Promise<void> {
    this.agents = (await call('GET /api/agents', {})).agents;
  }

  soon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.load(), REFRESH_MS);
  }

  take(event: ChatEvent): void {
    if (['turn_started', 'turn_finished', 'approval_needed', 'approval_resolved', 'thread_changed'].includes(event.type)) this.soon();
  }

  async create(): Promise<void> {
    try {
      const made = await call('POST /api/chat/thread/new', this.agent ? { agent: this.agent } : {});
      await Promise.all([chat.open(made.id), this.load()]);
    } catch (error) {
      this.error = messageOf(error);
    }
  }

  async select(id: string): Promise<void> {
    await chat.open(id);
    // So that a client without a thread in its hands, the terminal for one, goes on where the person is.
    try {
      await call('POST /api/chat/thread/activate', { thread_id: id });
    } catch (error) {
      this.error = messageOf(error);
    }
  }

  async rename(id: string, title: string): Promise<void> {
    try {
      await call('POST /api/chat/thread/rename', { thread_id: id, title });
      await this.load();
    } catch (error) {
      this.error = messageOf(error);
    }
  }

  get all(): ThreadInfo[] {
    return this.assistant ? [this.assistant, ...this.list] : this.list;
  }
  get current(): ThreadInfo | undefined {
    return this.all.find((each) => each.id === chat.threadId);
  }
}

export const threads = new Threads();
connection.listen((event) => threads.take(event));
