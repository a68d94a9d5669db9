import { ApiError, call, streamUrl } from '../api/client.ts';
import { delayBefore, Place } from '../chat/resume.ts';
import type { ChatEvent } from '../chat/types.ts';

// The one event stream of this page: all of the user's threads. It is taken up where it stood, later and later while the engine is away.

const TYPES = [
  'response', 'thinking', 'status', 'error', 'tool_started', 'tool_completed', 'tool_result', 'stream_chunk', 'stream_reset', 'approval_needed',
  'approval_resolved', 'auth_required', 'auth_completed', 'turn_started', 'turn_finished', 'usage', 'compacted', 'budget_warning', 'thread_changed',
] as const;

// A change from one stream to the next takes a moment; only one that lasts is told.
const CHANGE_MS = 1000;

export type Status = 'connecting' | 'connected' | 'waiting' | 'offline';

class Connection {
  status = $state<Status>('offline');
  // For the tests of others, which close it and set it to null.
  source: EventSource | null = null;

  #place = new Place();
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #late: ReturnType<typeof setTimeout> | undefined;
  #listeners = new Set<(event: ChatEvent) => void>();
  #openings = new Set<(again: boolean) => void>();
  #losses = new Set<() => void>();
  #opened = false;

  // Gives a function that ends the listening.
  listen(listener: (event: ChatEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  // Called whenever the stream is open, before its first event.
  whenOpen(handler: (again: boolean) => void): void {
    this.#openings.add(handler);
  }

  // Called when the stream is away for a reason other than the token.
  whenLost(handler: () => void): void {
    this.#losses.add(handler);
  }

  connect(): void {
    this.#drop();
    if (this.status === 'connected') this.#late = setTimeout(() => (this.status = 'connecting'), CHANGE_MS);
    else this.status = 'connecting';
    const source = new EventSource(streamUrl('/api/chat/events', { last_event_id: this.#place.last }));
    this.source = source;
    source.onopen = () => {
      if (this.source !== source) return;
      clearTimeout(this.#late);
      this.#attempt = 0;
      this.status = 'connected';
      for (const handler of this.#openings) handler(this.#opened);
      this.#opened = true;
    };
    // The browser would try again by itself, but not after a refusal, and without ever waiting longer.
    // The engine's own events of the name `error` come here as well: those have data.
    source.onerror = (event) => {
      if (this.source === source && !(event instanceof MessageEvent)) void this.#retry();
    };
    for (const type of TYPES) source.addEventListener(type, (message) => this.#take(source, message));
  }

  close(): void {
    this.#drop();
    this.#place.forget();
    this.#opened = false;
    this.status = 'offline';
  }

  // The network is back, or the page is looked at again: no reason to wait any longer.
  hurry(): void {
    if (this.status === 'waiting') this.connect();
  }

  #take(source: EventSource, message: Event): void {
    // A browser reports its own troubles as an event of the same name as the engine's `error`: those have no data.
    if (this.source !== source || !(message instanceof MessageEvent)) return;
    this.#place.saw(message.lastEventId);
    const event = JSON.parse(message.data as string) as ChatEvent;
    if (message.lastEventId !== '') event.event_id = message.lastEventId;
    for (const listener of this.#listeners) listener(event);
  }

  async #retry(): Promise<void> {
    this.#drop();
    this.status = 'waiting';
    const delay = delayBefore(this.#attempt++, Math.random());
    this.#timer = setTimeout(() => this.connect(), delay);
    // An EventSource does not say why it was refused. A call does: when the token is no longer good, the page asks for one.
    try {
      await call('GET /api/agents', {});
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) {
        this.close();
        return;
      }
    }
    for (const handler of this.#losses) handler();
  }

  #drop(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#late);
    this.source?.close();
    this.source = null;
  }
}

export const connection = new Connection();
