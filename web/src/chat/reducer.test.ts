import { describe, expect, it } from 'vitest';
import { addSending, applyAccepted, applyEvent, applyHistory, emptyView } from './reducer.ts';
import { newTurn } from './turns.ts';
import type { ApprovalStep, ChatEvent, History, HistoryTurn, ThreadView, ToolStep, Turn } from './types.ts';

const T = 't1';

function event(type: string, more: Record<string, unknown> = {}): ChatEvent {
  return { type, thread_id: T, turn_id: 'a', ...more };
}
function play(view: ThreadView, ...events: ChatEvent[]): void {
  events.forEach((each, index) => applyEvent(view, each, 1000 * (index + 1)));
}
function past(id: string, number: number, more: Partial<HistoryTurn> = {}): HistoryTurn {
  return {
    turn_id: id, turn_number: number, user_input: `question ${number}`, response: `answer ${number}`, state: 'completed', tool_calls: [],
    started_at: `2026-01-01T00:${String(number).padStart(2, '0')}:00.000Z`, completed_at: `2026-01-01T00:${String(number).padStart(2, '0')}:01.000Z`, ...more,
  };
}
function history(turns: HistoryTurn[], more: Partial<History> = {}): History {
  return { thread_id: T, turns, has_more: false, ...more };
}
const turnAt = (view: ThreadView, at: number): Turn => view.items.at(at) as Turn;
const texts = (turn: Turn): string[] => turn.steps.flatMap((step) => (step.kind === 'text' ? [step.text] : []));
const chunk = (content: string, id = '5.1'): ChatEvent => event('stream_chunk', { content, event_id: id });

describe('a turn as events tell it', () => {
  it('grows by pieces and ends with the reply', () => {
    const view = emptyView(T);
    play(view, event('turn_started', { number: 1, model: 'm' }), event('thinking'), chunk('Hel'), chunk('lo'));
    expect(texts(turnAt(view, 0))).toEqual(['Hello']);
    play(view, event('usage', { usage: { input_tokens: 7, output_tokens: 2 } }), event('response', { content: 'Hello' }), event('turn_finished', { state: 'completed' }));
    const turn = turnAt(view, 0);
    expect(texts(turn)).toEqual(['Hello']);
    expect([turn.state, turn.number, turn.model, turn.usage.input]).toEqual(['completed', 1, 'm', 7]);
  });

  it('keeps text before and after tools apart, in order', () => {
    const view = emptyView(T);
    play(
      view, event('turn_started'), chunk('Let me see.'), event('usage'), event('tool_started', { call_id: 'c', name: 'time', arguments: {} }),
      event('tool_completed', { call_id: 'c', name: 'time', success: true }), event('tool_result', { call_id: 'c', name: 'time', preview: 'noon' }),
      chunk('It is '), chunk('noon.'), event('usage'), event('response', { content: 'It is noon.' }), event('turn_finished', { state: 'completed' }),
    );
    const steps = turnAt(view, 0).steps;
    expect(steps.map((step) => step.kind)).toEqual(['text', 'tool', 'text']);
    expect(texts(turnAt(view, 0))).toEqual(['Let me see.', 'It is noon.']);
    expect(steps[1]).toMatchObject({ state: 'done', preview: 'noon', durationMs: 1000 });
  });

  it('says of a failed tool what went wrong', () => {
    const view = emptyView(T);
    play(view, event('turn_started'), event('tool_started', { call_id: 'c', name: 'x' }), event('tool_completed', { call_id: 'c', success: false, error: 'no such file' }));
    expect(turnAt(view, 0).steps[0]).toMatchObject({ state: 'failed', error: 'no such file' });
  });

  it('is not moved by what comes after its end', () => {
    const view = emptyView(T);
    play(view, event('turn_started'), event('response', { content: 'done' }), event('turn_finished', { state: 'completed' }), chunk('late'), event('error', { message: 'late' }));
    expect(texts(turnAt(view, 0))).toEqual(['done']);
    expect(turnAt(view, 0).error).toBeUndefined();
  });

  it('fails with its error, and nothing of it runs on', () => {
    const view = emptyView(T);
    play(view, event('turn_started'), event('tool_started', { call_id: 'c', name: 'x' }), event('error', { message: 'no model' }), event('turn_finished', { state: 'failed', error: { message: 'no model' } }));
    expect(turnAt(view, 0)).toMatchObject({ state: 'failed', error: 'no model' });
    expect((turnAt(view, 0).steps[0] as ToolStep).state).toBe('failed');
  });

  it('ignores what a newer engine adds', () => {
    const view = emptyView(T);
    play(view, event('turn_started'), event('something_new', { field: 1 }));
    expect(turnAt(view, 0).steps).toEqual([]);
  });
});

describe('stream_reset', () => {
  it('replaces the text so far', () => {
    const view = emptyView(T);
    play(view, event('turn_started'), chunk('wrong'), event('stream_reset', { text: 'right so' }), chunk(' far'));
    expect(texts(turnAt(view, 0))).toEqual(['right so far']);
  });
  it('for no turn asks for the whole thread', () => {
    expect(applyEvent(emptyView(T), event('stream_reset', { turn_id: '', text: '' }), 1).reload).toBe('thread');
  });
  it('after tools begins a new text', () => {
    const view = emptyView(T);
    play(view, event('turn_started'), chunk('before'), event('usage'), event('tool_started', { call_id: 'c', name: 'x' }), event('stream_reset', { text: 'after' }));
    expect(texts(turnAt(view, 0))).toEqual(['before', 'after']);
  });
  it('empty, without text, makes none', () => {
    const view = emptyView(T);
    play(view, event('turn_started'), event('stream_reset', { text: '' }));
    expect(turnAt(view, 0).steps).toEqual([]);
  });
});

describe('approvals', () => {
  const asked = event('approval_needed', { request_id: 'r', tool_name: 'shell', description: 'runs', parameters: '{}' });
  it('are asked once and answered from anywhere', () => {
    const view = emptyView(T);
    play(view, event('turn_started'), asked, asked);
    expect(turnAt(view, 0).state).toBe('awaiting_approval');
    expect(turnAt(view, 0).steps).toHaveLength(1);
    play(view, event('approval_resolved', { request_id: 'r', decision: 'always', approved: true }));
    expect((turnAt(view, 0).steps[0] as ApprovalStep).decision).toBe('always');
    expect(turnAt(view, 0).state).toBe('processing');
  });
  it('that history brings are not asked a second time by events', () => {
    const view = emptyView(T);
    applyHistory(view, history([past('a', 1, { state: 'awaiting_approval', completed_at: null, response: null })], { pending_approval: { request_id: 'r', tool_name: 'shell', description: 'd' } }), 'replace');
    play(view, asked);
    expect(turnAt(view, 0).steps.filter((step) => step.kind === 'approval')).toHaveLength(1);
  });
});

describe('what this page sends', () => {
  function sending(view: ThreadView, text = 'hi'): void {
    addSending(view, { ...newTurn('local-1', 1), user: text, state: 'sending' });
  }
  it('becomes its turn when the answer comes first', () => {
    const view = emptyView(T);
    sending(view);
    applyAccepted(view, 'local-1', { message_id: 'm', turn_id: 'a' });
    play(view, event('turn_started', { message_id: 'm', number: 1 }));
    expect(view.items).toHaveLength(1);
    expect(turnAt(view, 0)).toMatchObject({ id: 'a', user: 'hi', number: 1 });
  });
  it('becomes its turn when the event comes first', () => {
    const view = emptyView(T);
    sending(view);
    play(view, event('turn_started', { message_id: 'm' }), chunk('yes'));
    applyAccepted(view, 'local-1', { message_id: 'm', turn_id: 'a' });
    expect(view.items).toHaveLength(1);
    expect(turnAt(view, 0).user).toBe('hi');
    expect(texts(turnAt(view, 0))).toEqual(['yes']);
  });
  it('joins a running turn', () => {
    const view = emptyView(T);
    applyHistory(view, history([past('a', 1, { state: 'processing', completed_at: null, response: null })]), 'replace');
    sending(view, 'and this');
    applyAccepted(view, 'local-1', { message_id: 'm2', turn_id: 'a' });
    expect(view.items).toHaveLength(1);
    expect(turnAt(view, 0).steered).toEqual([{ text: 'and this', messageId: 'm2' }]);
  });
  it('that waited becomes a turn of its own later', () => {
    const view = emptyView(T);
    applyHistory(view, history([past('a', 1, { state: 'processing', completed_at: null, response: null })]), 'replace');
    sending(view, 'next');
    applyAccepted(view, 'local-1', { message_id: 'm2', turn_id: 'a' });
    play(view, event('turn_started', { turn_id: 'b', message_id: 'm2', number: 2 }));
    expect(turnAt(view, 0).steered).toEqual([]);
    expect(turnAt(view, 1)).toMatchObject({ id: 'b', user: 'next' });
  });
  it('as a command is a note, and its answer another', () => {
    const view = emptyView(T);
    sending(view, '/ping');
    applyAccepted(view, 'local-1', { message_id: 'm' });
    play(view, { type: 'response', thread_id: T, content: 'pong!', command: true });
    expect(view.items.map((item) => (item.kind === 'note' ? [item.role, item.text] : []))).toEqual([['user', '/ping'], ['assistant', 'pong!']]);
  });
});

describe('what another page sends', () => {
  it('asks history for the words', () => {
    const view = emptyView(T);
    expect(applyEvent(view, event('turn_started', { message_id: 'm' }), 1).reload).toBe('turn');
    applyHistory(view, history([past('a', 1, { state: 'processing', completed_at: null, response: null })]), 'newest');
    expect(view.items).toHaveLength(1);
    expect(turnAt(view, 0).user).toBe('question 1');
  });
  it('that joins a turn asks history, too', () => {
    const view = emptyView(T);
    play(view, event('turn_started', { message_id: 'm' }));
    expect(applyEvent(view, event('status', { message_id: 'other', message: 'joins' }), 1).reload).toBe('turn');
  });
});

describe('history', () => {
  it('older pages come in front, nothing twice', () => {
    const view = emptyView(T);
    applyHistory(view, history([past('b', 2), past('c', 3)], { has_more: true, oldest_timestamp: 'x' }), 'replace');
    applyHistory(view, history([past('a', 1), past('b', 2)], { has_more: false }), 'older');
    expect(view.items.map((item) => item.id)).toEqual(['a', 'b', 'c']);
    expect(view.hasMore).toBe(false);
  });

  it('read in mid-stream keeps the text that is being written', () => {
    const view = emptyView(T);
    play(view, event('turn_started', { message_id: 'm' }), chunk('so far'));
    applyHistory(view, history([past('a', 1, { state: 'processing', completed_at: null, response: null })], { last_event_id: '5.0' }), 'newest');
    play(view, chunk(' and on', '5.2'));
    expect(texts(turnAt(view, 0))).toEqual(['so far and on']);
  });

  it('that has the finished text already does not show it twice', () => {
    const view = emptyView(T);
    play(view, event('turn_started'), chunk('first answer', '5.3'));
    const running = past('a', 1, {
      state: 'processing', completed_at: null, response: null, steps: [{ text: 'first answer, whole' }, { call: 'c' }],
      tool_calls: [{ id: 'c', name: 'time', has_result: false, has_error: false }],
    });
    applyHistory(view, history([running], { last_event_id: '7.0' }), 'newest');
    expect(turnAt(view, 0).steps.map((step) => step.kind)).toEqual(['text', 'tool']);
    play(view, event('tool_completed', { call_id: 'c', success: true }));
    expect(turnAt(view, 0).steps).toHaveLength(2);
  });

  it('read before an answer and its tools began takes nothing of them away', () => {
    const view = emptyView(T);
    play(
      view, event('turn_started', { event_id: '4.0' }), chunk('Let me see.', '5.3'), event('usage', { event_id: '6.0' }),
      event('tool_started', { call_id: 'c', name: 'x', arguments: {}, event_id: '7.0' }),
      event('approval_needed', { request_id: 'r', tool_name: 'x', event_id: '8.0' }),
    );
    const running = past('a', 1, { state: 'processing', completed_at: null, response: null, steps: [] });
    applyHistory(view, history([running], { last_event_id: '5.0' }), 'newest');
    expect(turnAt(view, 0).steps.map((step) => step.kind)).toEqual(['text', 'tool', 'approval']);
    expect(turnAt(view, 0)).toMatchObject({ state: 'awaiting_approval', user: 'question 1' });
  });

  it('read between two tools is followed by what events told since', () => {
    const view = emptyView(T);
    const tool = (id: string, at: string): ChatEvent[] => [
      event('tool_started', { call_id: id, name: id, arguments: {}, event_id: at }), event('tool_completed', { call_id: id, success: true, event_id: at }),
    ];
    play(view, event('turn_started', { event_id: '4.0' }), ...tool('one', '6.0'), ...tool('two', '9.0'), chunk('so', '10.1'));
    const running = past('a', 1, {
      state: 'processing', completed_at: null, response: null, steps: [{ text: 'First.' }, { call: 'one' }],
      tool_calls: [{ id: 'one', name: 'one', has_result: true, has_error: false }],
    });
    applyHistory(view, history([running], { last_event_id: '8.0' }), 'newest');
    expect(turnAt(view, 0).steps.map((step) => (step.kind === 'text' ? step.text : step.kind === 'tool' ? step.id : ''))).toEqual(['First.', 'one', 'two', 'so']);
  });

  it('without the text between tools keeps the order that events had', () => {
    const view = emptyView(T);
    play(view, event('turn_started'), chunk('Let me see.'), event('usage'), event('tool_started', { call_id: 'c', name: 'time' }), event('tool_completed', { call_id: 'c', success: true }), chunk('Noon.'), event('response', { content: 'Noon.' }), event('turn_finished', { state: 'completed' }));
    applyHistory(view, history([past('a', 1, { response: 'Noon.', tool_calls: [{ id: 'c', name: 'time', arguments: { zone: 'UTC' }, has_result: true, has_error: false, result_preview: '12:00' }] })]), 'newest');
    expect(turnAt(view, 0).steps.map((step) => step.kind)).toEqual(['text', 'tool', 'text']);
    expect(turnAt(view, 0).steps[1]).toMatchObject({ arguments: { zone: 'UTC' }, preview: '12:00' });
  });

  it('does not take back an end that events told before it', () => {
    const view = emptyView(T);
    play(view, event('turn_started'), event('response', { content: 'done' }), event('turn_finished', { state: 'completed' }));
    applyHistory(view, history([past('a', 1, { state: 'processing', completed_at: null, response: null })]), 'newest');
    expect(turnAt(view, 0)).toMatchObject({ state: 'completed', user: 'question 1' });
  });

  it('replaced after an undo drops what is gone, and keeps what is still being sent', () => {
    const view = emptyView(T);
    applyHistory(view, history([past('a', 1), past('b', 2)]), 'replace');
    addSending(view, { ...newTurn('local-1', 1), user: 'x', state: 'sending' });
    expect(applyEvent(view, event('thread_changed', { reason: 'undone' }), 1).reload).toBe('thread');
    applyHistory(view, history([past('a', 1)]), 'replace');
    expect(view.items.map((item) => item.id)).toEqual(['a', 'local-1']);
  });
});

describe('credentials', () => {
  const asked = event('auth_required', { extension_name: 'github_token', instructions: 'Make one.' });
  it('are asked for in the running turn and answered once', () => {
    const view = emptyView(T);
    play(view, event('turn_started'), asked, asked);
    expect(turnAt(view, 0).steps).toHaveLength(1);
    play(view, event('auth_completed', { extension_name: 'github_token', success: true, message: 'Kept.' }));
    expect(turnAt(view, 0).steps[0]).toMatchObject({ outcome: { success: true, message: 'Kept.' } });
  });
});
