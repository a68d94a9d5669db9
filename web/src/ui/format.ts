// Numbers and times as people read them.

export function since(time: string, now = Date.now()): string {
  const seconds = Math.max(0, (now - Date.parse(time)) / 1000);
  if (seconds < 60) return 'now';
  return seconds < 7 * 86_400 ? span(seconds) : new Date(time).toLocaleDateString();
}

// In its largest whole unit.
export function span(seconds: number): string {
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`;
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

export function count(value: number): string {
  if (value < 1000) return `${value}`;
  return value < 1_000_000 ? `${(value / 1000).toFixed(1)}k` : `${(value / 1_000_000).toFixed(2)}M`;
}

export function pretty(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

// What JSON text says; other text, and what is no text, as it is.
export function parsed(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

// The first words of a call's arguments, for one line.
export function brief(value: unknown, length = 80): string {
  if (value === undefined || value === null) return '';
  const text = typeof value === 'object' ? Object.values(value).map((each) => (typeof each === 'string' ? each : JSON.stringify(each))).join(', ') : String(value);
  const line = text.replace(/\s+/g, ' ');
  return line.length > length ? `${line.slice(0, length)}…` : line;
}
