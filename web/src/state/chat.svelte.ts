import { ApiError, call, messageOf, type Input, type Output } from '../api/client.ts';
import { addNote, addSending, applyAccepted, applyEvent, applyHistory, emptyView } from '../chat/reducer.ts';
import { isAfter } from '../chat/resume.ts';
import { newTurn } from '../chat/turns.ts';
import { isRunning, type ApprovalStep, type AuthStep, type ChatEvent, type Decision, type History, type Note, type ThreadView, type Turn } from '../chat/types.ts';
import type { Outgoing } from './attachments.ts';
import { connection } from './connection.svelte.ts';

// The thread that is looked at. Events change it at once; history is read when it is opened and whenever events say that they do not tell all.

const PAGE = 40; // turns read at once
const REFRESH_MS = 120; // several events of a moment ask for history once

// Also the idempotency key of what is sent. randomUUID() exists on secure pages only.
function localId(): string {
  return `local-${[...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

// The document says of turns only that they are objects; what they are docs/contracts.md says, and chat/types.ts.
async function read(input: Input<'GET /api/chat/history'>, signal?: AbortSignal): Promise<History> {
  return (await call('GET /api/chat/history', input, signal)) as unknown as History;
}

class Chat {
  view = $state<ThreadView>(emptyView(''));
  loading = $state(false);
  error = $state('');
  // For screen readers.
  announcement = $state('');

  #snapshot: string | undefined; // where the stream stood when history was read
  #buffer: ChatEvent[] | null = null; // events that came while history is being read
  #refresh: ReturnType<typeof setTimeout> | undefined;
  #owed = false; // a reading that waits for the message on its way
  #opening: AbortController | null = null;
  #notes = 0;

  get threadId(): string {
    return this.view.threadId;
  }
  get running(): Turn | undefined {
    const last = this.view.items.findLast((item): item is Turn => item.kind === 'turn');
    return last && isRunning(last) ? last : undefined;
  }

  // Shows another thread; without an id the active one. History is read after the stream stands, so nothing falls between the two.
  async open(threadId = ''): Promise<void> {
    this.#opening?.abort();
    const opening = new AbortController();
    this.#opening = opening;
    clearTimeout(this.#refresh);
    if (threadId !== this.view.threadId || threadId === '') this.view = emptyView(threadId);
    this.loading = true;
    this.error = '';
    this.#buffer = [];
    try {
      const history = await read({ thread_id: threadId, limit: PAGE }, opening.signal);
      if (opening.signal.aborted) return;
      this.view.threadId = history.thread_id;
      applyHistory(this.view, history, 'replace');
      this.#snapshot = history.last_event_id;
    } catch (error) {
      if (opening.signal.aborted) return;
      this.error = messageOf(error);
    }
    this.loading = false;
    const waiting = this.#buffer ?? [];
    this.#buffer = null;
    for (const event of waiting) this.take(event);
  }

  take(event: ChatEvent): void {
    if (event.thread_id !== undefined && event.thread_id !== '' && event.thread_id !== this.view.threadId && this.view.threadId !== '') return;
    if (this.#buffer) {
      this.#buffer.push(event);
      return;
    }
    const id = event.event_id;
    if (event.type === 'stream_chunk' && typeof id === 'string' && this.#snapshot !== undefined && !isAfter(id, this.#snapshot)) return;
    const outcome = applyEvent(this.view, event, Date.now());
    if (outcome.announce) this.announcement = outcome.announce;
    // A message on its way explains a turn that nobody knows yet; its answer is a moment away, and what is to be read waits for it.
    const sending = this.view.items.some((item) => item.kind === 'turn' && item.state === 'sending');
    if (outcome.reload === 'thread') void this.open(this.view.threadId);
    else if (outcome.reload === 'turn' && sending) this.#owed = true;
    else if (outcome.reload === 'turn') this.refresh();
  }

  // Reads the newest turns again, once for all that is asked for within a moment.
  refresh(): void {
    this.#owed = false;
    clearTimeout(this.#refresh);
    this.#refresh = setTimeout(() => void this.#readNewest(), REFRESH_MS);
  }

  async #readNewest(): Promise<void> {
    const threadId = this.view.threadId;
    try {
      const history = await read({ thread_id: threadId, limit: 3 });
      if (this.view.threadId !== threadId || this.#buffer) return;
      applyHistory(this.view, history, 'newest');
      this.#snapshot = history.last_event_id ?? this.#snapshot;
    } catch (error) {
      // The stream tells the same, later: a refused read is no reason to disturb. A lost engine is shown by the connection.
      if (error instanceof ApiError && error.status !== 0) this.error = error.message;
    }
  }

  async loadOlder(): Promise<void> {
    const { threadId, oldest, hasMore } = this.view;
    if (!hasMore || !oldest || this.loading) return;
    this.loading = true;
    try {
      const history = await read({ thread_id: threadId, limit: PAGE, before: oldest });
      if (this.view.threadId === threadId) applyHistory(this.view, history, 'older');
    } catch (error) {
      this.error = messageOf(error);
    }
    this.loading = false;
  }

  // --- what a person does

  async send(content: string, files: Outgoing[] = []): Promise<boolean> {
    const local = this.#localTurn(content, files);
    return this.#deliver(local.id, () => this.#post(local));
  }

  // Once more what did not reach the engine: the same key, so that it counts once.
  async resend(turn: Turn): Promise<boolean> {
    turn.state = 'sending';
    turn.error = undefined;
    return this.#deliver(turn.id, () => this.#post(turn));
  }

  #post(turn: Turn): Promise<Output<'POST /api/chat/send'>> {
    const files = turn.outgoing ?? [];
    const input = { content: turn.user ?? '', thread_id: this.threadId || undefined, idempotency_key: turn.id };
    return call('POST /api/chat/send', files.length > 0 ? { ...input, attachments: files } : input);
  }

  async retry(): Promise<void> {
    await this.#act(async () => {
      await call('POST /api/chat/retry', { thread_id: this.threadId });
    });
  }

  // The thread goes on, from before that turn, in a new one with other words.
  async edit(turn: Turn, content: string): Promise<string | undefined> {
    let made: string | undefined;
    await this.#act(async () => {
      made = (await call('POST /api/chat/edit', { thread_id: this.threadId, turn_number: turn.number, content })).thread_id;
    });
    return made;
  }

  async stop(): Promise<void> {
    if (!this.running) return;
    await this.#act(() => call('POST /api/chat/interrupt', { thread_id: this.threadId }));
  }

  async decide(step: ApprovalStep, action: Decision): Promise<void> {
    step.decision = action;
    try {
      await call('POST /api/chat/approval', { request_id: step.request_id, action });
    } catch (error) {
      if (error instanceof ApiError && (error.status === 404 || error.status === 409)) {
        step.note = error.message; // answered elsewhere, or given up
      } else {
        step.decision = undefined;
        step.note = messageOf(error);
      }
    }
  }

  // The value goes to the vault; it is in no message, no history and no log.
  async giveSecret(step: AuthStep, token: string): Promise<void> {
    await this.#credential(step, () => call('POST /api/chat/auth-token', { extension_name: step.extension_name, token }));
  }
  async refuseSecret(step: AuthStep): Promise<void> {
    await this.#credential(step, () => call('POST /api/chat/auth-cancel', { extension_name: step.extension_name }));
  }

  note(note: Omit<Note, 'kind' | 'id'>): void {
    addNote(this.view, { kind: 'note', id: `note-${++this.#notes}`, ...note });
  }

  // ---

  #localTurn(content: string, files: Outgoing[]): Turn {
    const turn = newTurn(localId(), Date.now());
    turn.user = content;
    turn.state = 'sending';
    if (files.length > 0) turn.outgoing = files;
    turn.attachments = files.map((file) => ({ name: file.name, media_type: file.media_type, size: Math.floor((file.data.length * 3) / 4) }));
    addSending(this.view, turn);
    return turn;
  }

  async #deliver(localId: string, post: () => Promise<Output<'POST /api/chat/send'>>): Promise<boolean> {
    this.error = '';
    try {
      const answer = await post();
      applyAccepted(this.view, localId, answer);
      // A command such as /new leads to another thread.
      if (answer.thread_id !== this.threadId) await this.open(answer.thread_id);
      else if (this.#owed || this.view.items.some((item) => item.kind === 'turn' && item.id === answer.turn_id && item.number < 0)) this.refresh();
      return true;
    } catch (error) {
      const turn = this.view.items.find((item): item is Turn => item.kind === 'turn' && item.id === localId);
      if (turn) Object.assign(turn, { state: 'unsent', error: messageOf(error) });
      if (this.#owed) this.refresh();
      return false;
    }
  }

  async #act(action: () => Promise<unknown>): Promise<void> {
    this.error = '';
    try {
      await action();
    } catch (error) {
      this.error = messageOf(error);
    }
  }

  async #credential(step: AuthStep, post: () => Promise<Output<'POST /api/chat/auth-token'>>): Promise<void> {
    try {
      const answer = await post();
      step.outcome ??= { success: answer.success, message: answer.message };
    } catch (error) {
      this.error = messageOf(error);
    }
  }
}

export const chat = new Chat();
connection.listen((event) => chat.take(event));
