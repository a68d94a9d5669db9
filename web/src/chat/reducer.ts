import { isAfter } from './resume.ts';
import { finished, newTurn, place, turnFromHistory } from './turns.ts';
import type { ApprovalStep, ChatEvent, History, Item, Note, Step, TextStep, ThreadView, ToolStep, Turn } from './types.ts';

// The heart of the page: what events and history make of a thread's view. Pure but for the view, which is changed in place (it is
// Svelte's proxy, so that only what changed is drawn again). Time and ids come from the caller.

export interface Outcome {
  // History must be read again: something is known to have happened that events alone do not tell.
  reload?: 'thread' | 'turn';
  // For screen readers.
  announce?: string;
}

const text = (event: ChatEvent, field: string): string => (typeof event[field] === 'string' ? (event[field] as string) : '');

export function emptyView(threadId: string): ThreadView {
  return { threadId, items: [], hasMore: false };
}

// --- history

// Brings in a page of history. Turns that are shown already keep what only events told (text of a running answer, timers).
export function applyHistory(view: ThreadView, history: History, how: 'newest' | 'older' | 'replace'): void {
  const turns = history.turns.map(turnFromHistory);
  if (how === 'replace') {
    const kept = view.items.filter((item) => item.kind === 'note' || item.state === 'sending' || item.state === 'unsent');
    const running = new Map(view.items.flatMap((item) => (item.kind === 'turn' ? [[item.id, item] as const] : [])));
    view.items = [...turns.map((turn) => merged(running.get(turn.id), turn, history.last_event_id)), ...kept];
  } else if (how === 'older') {
    const known = new Set(view.items.map((item) => item.id));
    view.items.unshift(...turns.filter((turn) => !known.has(turn.id)));
  } else {
    for (const turn of turns) upsert(view, turn, history.last_event_id);
  }
  if (how !== 'newest') {
    view.hasMore = history.has_more;
    view.oldest = history.oldest_timestamp;
  }
  if (how === 'older') return;
  const last = view.items.findLast((item) => item.kind === 'turn');
  if (!last || last.kind !== 'turn') return;
  if (history.pending_approval) ask(last, { kind: 'approval', ...history.pending_approval });
  if (history.pending_auth) askFor(last, { kind: 'auth', ...history.pending_auth });
}

function upsert(view: ThreadView, turn: Turn, upTo: string | undefined): void {
  const at = view.items.findIndex((item) => item.id === turn.id);
  if (at >= 0) {
    view.items[at] = merged(view.items[at] as Turn, turn, upTo);
    return;
  }
  // A message that was just sent stands for its turn until the engine names it.
  const sending = view.items.findIndex((item) => item.kind === 'turn' && item.messageId !== undefined && item.messageId === turn.messageId);
  if (sending >= 0) view.items[sending] = turn;
  else view.items.splice(place(view.items, turn), 0, turn);
}

// What history says wins, except where events are ahead of it.
function merged(shown: Turn | undefined, read: Turn, upTo: string | undefined): Turn {
  if (!shown) return read;
  read.messageId ??= shown.messageId;
  if (finished(shown) && !finished(read)) return { ...shown, user: read.user, number: read.number, attachments: read.attachments };
  if (read.usage.input === 0) read.usage = shown.usage;
  const tools = new Map(shown.steps.flatMap((step) => (step.kind === 'tool' ? [[step.id, step] as const] : [])));
  for (const step of read.steps) if (step.kind === 'tool') keepNewer(step, tools.get(step.id));
  if (!read.ordered && shown.steps.some((step) => step.kind === 'text')) {
    read.steps = inShownOrder(shown.steps, read);
    return read;
  }
  addMissing(shown.steps, read, upTo);
  if (!finished(read) && shown.at !== undefined && isAhead(shown.at, upTo)) read.state = shown.state;
  read.at = shown.at;
  return read;
}

// Steps that only events told: questions and notices stay where they were, what was said and done after history was read follows it.
function addMissing(shown: Step[], read: Turn, upTo: string | undefined): void {
  const known = new Set(read.steps.flatMap((step) => (step.kind === 'tool' ? [step.id] : [])));
  const texts = read.steps.flatMap((step) => (step.kind === 'text' ? [step.text] : []));
  let text = 0;
  let behind = false;
  shown.forEach((step, at) => {
    if (step.kind === 'text' || step.kind === 'tool') {
      const there = step.kind === 'tool' ? known.has(step.id) : isIn(step, texts[text++], upTo);
      if (there || finished(read)) return;
      behind = true;
    }
    if (behind) read.steps.push(step);
    else read.steps.splice(at, 0, step);
  });
}

// Whether an event came after history was read. Where that cannot be known, it did: nothing that was shown is taken away.
function isAhead(at: string | undefined, upTo: string | undefined): boolean {
  return at === undefined || upTo === undefined || isAfter(at, upTo);
}

function keepNewer(step: ToolStep, before: ToolStep | undefined): void {
  if (!before) return;
  step.startedAt = step.startedAt || before.startedAt;
  step.durationMs ??= before.durationMs;
  if (step.state === 'running' && before.state !== 'waiting') Object.assign(step, { state: before.state, preview: before.preview, error: before.error });
}

// History of an engine that does not tell where text stood between tools: the order that events had is the better one.
function inShownOrder(shown: Step[], read: Turn): Step[] {
  const tools = new Map(read.steps.flatMap((step) => (step.kind === 'tool' ? [[step.id, step] as const] : [])));
  const steps = shown.map((step) => {
    if (step.kind !== 'tool') return step;
    const newer = tools.get(step.id);
    tools.delete(step.id);
    return newer ?? step;
  });
  steps.push(...tools.values());
  const reply = read.steps.findLast((step): step is TextStep => step.kind === 'text');
  const last = steps.at(-1);
  if (reply && last?.kind === 'text') last.text = reply.text;
  else if (reply) steps.push(reply);
  return steps;
}

// Whether a shown text is in what was read. One that is being written may be there as the whole answer: then it was finished in between.
function isIn(shown: TextStep, read: string | undefined, upTo: string | undefined): boolean {
  if (!shown.open && shown.text === read) return true;
  if (isAhead(shown.at, upTo)) return false;
  return read?.startsWith(shown.text) ?? !shown.open;
}

// --- what this page does itself

export function addSending(view: ThreadView, turn: Turn): void {
  view.items.push(turn);
}

// The engine has taken the message: as a turn of its own, as part of a running one, or as a command without a turn.
export function applyAccepted(view: ThreadView, localId: string, answer: { message_id: string; turn_id?: string }): Outcome {
  const at = view.items.findIndex((item) => item.id === localId);
  const local = view.items[at];
  if (!local || local.kind !== 'turn') return {};
  local.messageId = answer.message_id;
  local.outgoing = undefined;
  if (!answer.turn_id) {
    view.items[at] = { kind: 'note', id: localId, role: 'user', text: local.user ?? '' };
    return {};
  }
  const turn = view.items.find((item): item is Turn => item.kind === 'turn' && item.id === answer.turn_id);
  if (!turn) {
    local.id = answer.turn_id;
    if (local.state === 'sending') local.state = 'processing';
    return {};
  }
  view.items.splice(at, 1);
  if (turn.user === undefined || turn.messageId === answer.message_id) {
    turn.user = local.user;
    turn.attachments = local.attachments;
    turn.messageId = answer.message_id;
  } else if (!turn.steered.some((each) => each.messageId === answer.message_id)) {
    turn.steered.push({ text: local.user ?? '', messageId: answer.message_id });
  }
  return {};
}

export function addNote(view: ThreadView, note: Note): void {
  view.items.push(note);
}

// --- events

export function applyEvent(view: ThreadView, event: ChatEvent, now: number): Outcome {
  if (event.type === 'thread_changed') return { reload: 'thread' };
  if (event.type === 'stream_reset' && !event.turn_id) return { reload: 'thread' };
  if (event.type === 'response' && event.command === true) return commandReply(view, event);
  if (event.type === 'auth_required' || event.type === 'auth_completed') return authEvent(view, event);
  if (!event.turn_id) return event.type === 'error' || event.type === 'status' ? notice(view, event) : {};
  const known = turnOf(view, event.turn_id);
  const turn = known ?? begin(view, event, now);
  turn.at = text(event, 'event_id') || turn.at;
  const outcome = applyToTurn(turn, event, now);
  // A turn that began elsewhere: its user's words are in the history.
  if (!known && turn.user === undefined) return { ...outcome, reload: outcome.reload ?? 'turn' };
  return outcome;
}

function turnOf(view: ThreadView, id: string): Turn | undefined {
  return view.items.findLast((item): item is Turn => item.kind === 'turn' && item.id === id);
}

function begin(view: ThreadView, event: ChatEvent, now: number): Turn {
  const message = text(event, 'message_id');
  const waiting = view.items.findLast((item): item is Turn => item.kind === 'turn' && message !== '' && item.messageId === message);
  if (waiting) {
    waiting.id = event.turn_id!;
    return waiting;
  }
  const turn = newTurn(event.turn_id!, now);
  // A message that waited for its turn was shown below the running one.
  for (const item of view.items) {
    if (item.kind !== 'turn') continue;
    const at = item.steered.findIndex((each) => message !== '' && each.messageId === message);
    if (at >= 0) turn.user = item.steered.splice(at, 1)[0]!.text;
  }
  view.items.push(turn);
  return view.items.at(-1) as Turn; // the proxy, not the object
}

function applyToTurn(turn: Turn, event: ChatEvent, now: number): Outcome {
  if (finished(turn) && event.type !== 'turn_finished' && event.type !== 'response') return {};
  switch (event.type) {
    case 'turn_started':
      turn.state = 'processing';
      turn.messageId = text(event, 'message_id') || turn.messageId;
      turn.number = typeof event.number === 'number' ? event.number : turn.number;
      turn.model = text(event, 'model') || turn.model;
      return {};
    case 'stream_chunk':
      write(openText(turn), (before) => before + text(event, 'content'), event);
      return {};
    case 'stream_reset':
      if (text(event, 'text') !== '' || lastText(turn)?.open) write(openText(turn), () => text(event, 'text'), event);
      return { reload: 'turn' };
    case 'usage':
      return usage(turn, event);
    case 'tool_started':
      return toolStarted(turn, event, now);
    case 'tool_completed':
    case 'tool_result':
      return toolChanged(turn, event, now);
    case 'approval_needed':
      turn.state = 'awaiting_approval';
      ask(turn, { kind: 'approval', request_id: text(event, 'request_id'), tool_name: text(event, 'tool_name'), description: text(event, 'description'), parameters: text(event, 'parameters') });
      return { announce: `Approval needed: ${text(event, 'tool_name')}` };
    case 'approval_resolved':
      resolve(turn, event);
      return {};
    case 'response':
      return response(turn, event);
    case 'error':
      turn.error = text(event, 'message');
      return { announce: `Error: ${turn.error}` };
    case 'turn_finished':
      return finish(turn, event, now);
    case 'status':
      return status(turn, event);
    case 'compacted':
      turn.steps.push({ kind: 'notice', text: `Older messages were left out to make room (${event.tokens_before} to ${event.tokens_after} tokens).` });
      return {};
    case 'budget_warning':
      turn.steps.push({ kind: 'notice', text: text(event, 'message') || 'The spending limit is near.' });
      return {};
    default:
      return {}; // `thinking`, and what newer engines may add
  }
}

function lastText(turn: Turn): TextStep | undefined {
  const last = turn.steps.at(-1);
  return last?.kind === 'text' ? last : undefined;
}

function openText(turn: Turn): TextStep {
  const last = lastText(turn);
  if (last?.open) return last;
  turn.steps.push({ kind: 'text', text: '', open: true });
  return turn.steps.at(-1) as TextStep;
}

function write(step: TextStep, change: (before: string) => string, event: ChatEvent): void {
  step.text = change(step.text);
  step.at = text(event, 'event_id') || step.at;
}

function usage(turn: Turn, event: ChatEvent): Outcome {
  const last = lastText(turn);
  if (last) last.open = false;
  const used = event.usage as { input_tokens?: number; output_tokens?: number; cached_tokens?: number } | undefined;
  turn.usage.input += used?.input_tokens ?? 0;
  turn.usage.output += used?.output_tokens ?? 0;
  turn.usage.cached += used?.cached_tokens ?? 0;
  turn.model = text(event, 'model') || turn.model;
  return {};
}

function toolOf(turn: Turn, event: ChatEvent): ToolStep | undefined {
  const id = text(event, 'call_id');
  return turn.steps.find((step): step is ToolStep => step.kind === 'tool' && step.id === id);
}

function toolStarted(turn: Turn, event: ChatEvent, now: number): Outcome {
  const known = toolOf(turn, event);
  if (!known) {
    turn.steps.push({ kind: 'tool', id: text(event, 'call_id'), name: text(event, 'name'), state: 'running', startedAt: now, arguments: event.arguments, at: turn.at });
  } else if (known.state === 'waiting' || (known.state === 'running' && known.startedAt === 0)) {
    known.state = 'running';
    known.startedAt = now;
  }
  return event.arguments === undefined ? { reload: 'turn' } : {};
}

function toolChanged(turn: Turn, event: ChatEvent, now: number): Outcome {
  let tool = toolOf(turn, event);
  if (!tool) {
    turn.steps.push({ kind: 'tool', id: text(event, 'call_id'), name: text(event, 'name'), state: 'running', startedAt: 0, at: turn.at });
    tool = turn.steps.at(-1) as ToolStep;
  }
  if (event.type === 'tool_result') {
    tool.preview = text(event, 'preview');
    return {};
  }
  tool.state = event.success === false ? 'failed' : 'done';
  if (typeof event.error === 'string') tool.error = event.error;
  if (typeof event.duration_ms === 'number') tool.durationMs = event.duration_ms;
  else if (tool.startedAt > 0) tool.durationMs ??= Math.max(0, now - tool.startedAt);
  return {};
}

function ask(turn: Turn, step: ApprovalStep): void {
  if (!turn.steps.some((each) => each.kind === 'approval' && each.request_id === step.request_id)) turn.steps.push(step);
}

function askFor(turn: Turn, step: Extract<Step, { kind: 'auth' }>): void {
  if (!turn.steps.some((each) => each.kind === 'auth' && !each.outcome && each.extension_name === step.extension_name)) turn.steps.push(step);
}

function resolve(turn: Turn, event: ChatEvent): void {
  const step = turn.steps.find((each): each is ApprovalStep => each.kind === 'approval' && each.request_id === event.request_id);
  const word = text(event, 'decision');
  if (step) step.decision = event.approved === false ? 'deny' : word === 'always' ? 'always' : 'approve';
  if (!turn.steps.some((each) => each.kind === 'approval' && !each.decision)) turn.state = 'processing';
}

function response(turn: Turn, event: ChatEvent): Outcome {
  const content = text(event, 'content');
  const last = lastText(turn);
  if (last) Object.assign(last, { text: content, open: false });
  else if (content !== '') turn.steps.push({ kind: 'text', text: content, open: false, at: turn.at });
  return { announce: content };
}

function finish(turn: Turn, event: ChatEvent, now: number): Outcome {
  const known = finished(turn);
  turn.state = (text(event, 'state') || 'completed') as Turn['state'];
  if (known) return {};
  turn.completedAt = now;
  const failure = event.error as { message?: string } | undefined;
  if (failure?.message) turn.error = failure.message;
  const last = lastText(turn);
  if (last) last.open = false;
  for (const step of turn.steps) {
    if (step.kind === 'tool' && (step.state === 'running' || step.state === 'waiting')) step.state = 'failed';
  }
  return { reload: 'turn' };
}

function status(turn: Turn, event: ChatEvent): Outcome {
  const message = text(event, 'message_id');
  // Somebody's words joined the turn: which, history knows.
  if (message !== '' && message !== turn.messageId && !turn.steered.some((each) => each.messageId === message)) return { reload: 'turn' };
  return {};
}

function commandReply(view: ThreadView, event: ChatEvent): Outcome {
  const content = text(event, 'content');
  view.items.push({ kind: 'note', id: `reply-${view.items.length}-${text(event, 'message_id')}`, role: 'assistant', text: content });
  return { announce: content };
}

function notice(view: ThreadView, event: ChatEvent): Outcome {
  const message = text(event, 'message');
  if (message === '') return {};
  view.items.push({ kind: 'note', id: `notice-${view.items.length}-${message.length}`, role: 'system', text: message });
  return { announce: message };
}

function authEvent(view: ThreadView, event: ChatEvent): Outcome {
  const name = text(event, 'extension_name');
  if (event.type === 'auth_completed') {
    for (const item of view.items as Item[]) {
      if (item.kind === 'turn' && item.state === 'awaiting_auth') item.state = 'processing';
      const steps = item.kind === 'turn' ? item.steps : item.step ? [item.step] : [];
      for (const step of steps) {
        if (step.kind === 'auth' && step.extension_name === name && !step.outcome) step.outcome = { success: event.success === true, message: text(event, 'message') };
      }
    }
    return { announce: text(event, 'message') };
  }
  const step = { kind: 'auth' as const, extension_name: name, instructions: text(event, 'instructions'), auth_url: text(event, 'auth_url'), setup_url: text(event, 'setup_url') };
  const turn = event.turn_id ? turnOf(view, event.turn_id) : undefined;
  const last = turn ?? view.items.findLast((item): item is Turn => item.kind === 'turn' && !finished(item));
  if (last) askFor(last, step);
  else view.items.push({ kind: 'note', id: `auth-${name}-${view.items.length}`, role: 'system', text: '', step });
  return { announce: `${name} is asked for` };
}
