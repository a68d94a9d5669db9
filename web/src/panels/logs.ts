export const LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const;
export const KEPT = 2000; // lines; older ones are dropped

export interface Entry {
  number: number;
  level: string;
  target: string;
  message: string;
  timestamp: string;
}

export function fits(entry: Entry, level: string, query: string): boolean {
  const rank = (name: string): number => LEVELS.indexOf(name.toLowerCase() as (typeof LEVELS)[number]);
  if (rank(entry.level) >= 0 && rank(entry.level) < rank(level)) return false;
  return query === '' || `${entry.target} ${entry.message}`.toLowerCase().includes(query.toLowerCase());
}
