import type { HistoryCall, HistoryTurn, Item, Step, ToolStep, Turn } from './types.ts';

export function finished(turn: Turn): boolean {
  return turn.state === 'completed' || turn.state === 'failed' || turn.state === 'interrupted';
}

export function newTurn(id: string, now: number): Turn {
  return {
    kind: 'turn', id, number: -1, attachments: [], steered: [], steps: [], state: 'processing', startedAt: now, completedAt: 0,
    usage: { input: 0, output: 0, cached: 0 },
  };
}

function toolStep(call: HistoryCall, turn: HistoryTurn): ToolStep {
  const over = turn.completed_at !== null;
  const state = call.has_error ? 'failed' : call.has_result ? 'done' : over ? 'failed' : turn.state === 'awaiting_approval' ? 'waiting' : 'running';
  return {
    kind: 'tool', id: call.id, name: call.name, state, arguments: call.arguments, preview: call.result_preview,
    error: call.error ?? (over && !call.has_result ? 'It did not finish.' : undefined), startedAt: 0, durationMs: call.duration_ms,
  };
}

export function turnFromHistory(turn: HistoryTurn): Turn {
  const calls = new Map(turn.tool_calls.map((call) => [call.id, call]));
  const steps: Step[] = [];
  for (const step of turn.steps ?? []) {
    const call = step.call === undefined ? undefined : calls.get(step.call);
    if (call) {
      steps.push(toolStep(call, turn));
      calls.delete(call.id);
    } else if (step.text) {
      steps.push({ kind: 'text', text: step.text, open: false });
    }
  }
  for (const call of calls.values()) steps.push(toolStep(call, turn));
  const last = steps.at(-1);
  if (turn.response && !(last?.kind === 'text' && last.text === turn.response)) steps.push({ kind: 'text', text: turn.response, open: false });
  return {
    kind: 'turn', id: turn.turn_id, number: turn.turn_number, user: turn.user_input, attachments: turn.attachments ?? [], ordered: turn.steps !== undefined,
    steered: (turn.steered ?? []).map((text) => ({ text })), steps, state: turn.state, error: turn.error, model: turn.model,
    startedAt: Date.parse(turn.started_at), completedAt: turn.completed_at === null ? 0 : Date.parse(turn.completed_at),
    usage: {
      input: turn.usage?.prompt_tokens ?? 0, output: turn.usage?.completion_tokens ?? 0, cached: turn.usage?.cached_tokens ?? 0,
    },
  };
}

// Where a turn belongs among the items: by its number, before what is only being sent.
export function place(items: Item[], turn: Turn): number {
  for (let at = items.length; at > 0; --at) {
    const item = items[at - 1]!;
    if (item.kind === 'turn' && item.number >= 0 && item.number < turn.number) return at;
    if (item.kind === 'turn' && item.number < 0 && item.state !== 'sending') return at;
  }
  return 0;
}
