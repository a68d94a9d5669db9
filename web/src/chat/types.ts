// What the engine says (docs/contracts.md, "Threads, turns, events"), and what the page makes of it.

import type { Outgoing } from '../state/attachments.ts';

export type TurnState = 'processing' | 'awaiting_approval' | 'awaiting_auth' | 'awaiting_client' | 'completed' | 'failed' | 'interrupted';

export interface Attachment {
  name: string;
  media_type: string;
  size?: number;
  path?: string;
}

export interface Usage {
  prompt_tokens?: number;
  completion_tokens?: number;
  cached_tokens?: number;
  input_tokens?: number;
  output_tokens?: number;
}

export interface Approval {
  request_id: string;
  tool_name: string;
  description: string;
  parameters?: string;
  thread_id?: string;
}

export interface AuthRequest {
  extension_name: string;
  instructions?: string;
  auth_url?: string;
  setup_url?: string;
}

// --- as /api/chat/history has it

export interface HistoryCall {
  id: string;
  name: string;
  arguments?: unknown;
  has_result: boolean;
  has_error: boolean;
  result_preview?: string;
  error?: string;
  duration_ms?: number;
}

export interface HistoryTurn {
  turn_number: number;
  turn_id: string;
  user_input: string;
  response: string | null;
  state: TurnState;
  started_at: string;
  completed_at: string | null;
  tool_calls: HistoryCall[];
  // What the model wrote before tools, and the tools, in order: {text} or {call}.
  steps?: Array<{ text?: string; call?: string }>;
  steered?: string[];
  error?: string;
  attachments?: Attachment[];
  usage?: Usage;
  model?: string;
}

export interface History {
  thread_id: string;
  turns: HistoryTurn[];
  has_more: boolean;
  oldest_timestamp?: string;
  // Where the event stream stood when this was read.
  last_event_id?: string;
  pending_approval?: Approval;
  pending_auth?: AuthRequest;
}

export interface ThreadInfo {
  id: string;
  state: string;
  turn_count: number;
  created_at: string;
  updated_at: string;
  title?: string;
  thread_type?: 'assistant' | 'thread';
  agent: string;
  channel: string;
}

// --- events

export interface ChatEvent {
  type: string;
  thread_id?: string;
  turn_id?: string;
  [field: string]: unknown;
}

// --- what is shown

export type Decision = 'approve' | 'always' | 'deny';

export interface TextStep {
  kind: 'text';
  text: string;
  open: boolean; // more may come
  at?: string; // the event that its last piece came with
}
export interface ToolStep {
  kind: 'tool';
  id: string;
  name: string;
  state: 'running' | 'done' | 'failed' | 'waiting';
  arguments?: unknown;
  preview?: string;
  error?: string;
  startedAt: number; // 0 when not known
  durationMs?: number;
  at?: string; // the event that it began with
}
export interface ApprovalStep extends Approval {
  kind: 'approval';
  decision?: Decision;
  note?: string;
}
export interface AuthStep extends AuthRequest {
  kind: 'auth';
  outcome?: { success: boolean; message: string };
}
export interface NoticeStep {
  kind: 'notice';
  text: string;
}
export type Step = TextStep | ToolStep | ApprovalStep | AuthStep | NoticeStep;

export interface Turn {
  kind: 'turn';
  id: string; // the engine's, or "local-..." until it is known
  messageId?: string;
  number: number; // from 0; -1 until known
  user?: string; // not known when another tab sent it and history has not been read yet
  attachments: Attachment[];
  outgoing?: Outgoing[]; // the files themselves, until the engine has them
  steered: Array<{ text: string; messageId?: string }>;
  steps: Step[];
  ordered?: boolean; // history told the steps with the text between tools
  state: TurnState | 'sending' | 'unsent';
  error?: string;
  startedAt: number;
  completedAt: number;
  usage: { input: number; output: number; cached: number };
  model?: string;
  at?: string; // the last event of it
}

// A line that belongs to no turn: the answer to a command, or what a script of another suite adds.
export interface Note {
  kind: 'note';
  id: string;
  role: 'user' | 'assistant' | 'system';
  text: string;
  step?: ApprovalStep | AuthStep;
}

export type Item = Turn | Note;

export interface ThreadView {
  threadId: string;
  items: Item[];
  hasMore: boolean;
  oldest?: string; // where the next older page begins
}

export function isRunning(turn: Turn): boolean {
  return turn.state === 'processing' || turn.state === 'sending' || turn.state === 'awaiting_approval' || turn.state === 'awaiting_auth';
}
