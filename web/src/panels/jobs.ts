import type { ThreadInfo } from '../chat/types.ts';

export const WORDS: Record<string, string> = { Processing: 'works', AwaitingApproval: 'waits for your approval', AwaitingAuth: 'waits for a credential' };

// Threads with a turn that has not ended, those that wait for a person first.
export function underWay(threads: ThreadInfo[]): ThreadInfo[] {
  return threads.filter((thread) => thread.state in WORDS).toSorted((a, b) => a.state.localeCompare(b.state));
}
