import type { Approval } from '../chat/types.ts';
import { chat } from './chat.svelte.ts';
import { connection } from './connection.svelte.ts';

// Names that scripts in the page may use; IronClaw's browser tests do. Part of the DOM contract of docs/contracts.md.

declare global {
  interface Window {
    addMessage: (role: 'user' | 'assistant', content: string) => void;
    showApproval: (data: Approval) => void;
    connectSSE: () => void;
    eventSource: EventSource | null;
    currentThreadId: string | null;
  }
}

export function offer(target: Window): void {
  target.addMessage = (role, content) => chat.note({ role, text: content });
  target.showApproval = (data) => chat.note({ role: 'system', text: '', step: { kind: 'approval', ...data } });
  target.connectSSE = () => connection.connect();
  Object.defineProperty(target, 'eventSource', {
    configurable: true,
    get: () => connection.source,
    set: (value: EventSource | null) => {
      connection.source = value;
    },
  });
  Object.defineProperty(target, 'currentThreadId', { configurable: true, get: () => chat.threadId || null });
}
