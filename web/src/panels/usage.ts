export interface UsageRow {
  date: string; // YYYY-MM-DD
  model: string;
  turns: number;
  prompt_tokens: number;
  completion_tokens: number;
  cached_tokens: number;
  cost?: number | string;
}

export interface ModelUsage extends Omit<UsageRow, 'date' | 'cost'> {
  cost?: number;
}

export function byModel(rows: UsageRow[]): ModelUsage[] {
  const sums = new Map<string, ModelUsage>();
  for (const row of rows) {
    const sum = sums.get(row.model) ?? { model: row.model, turns: 0, prompt_tokens: 0, completion_tokens: 0, cached_tokens: 0 };
    for (const field of ['turns', 'prompt_tokens', 'completion_tokens', 'cached_tokens'] as const) sum[field] += row[field];
    if (row.cost !== undefined) sum.cost = (sum.cost ?? 0) + Number(row.cost);
    sums.set(row.model, sum);
  }
  return [...sums.values()].toSorted((a, b) => b.prompt_tokens + b.completion_tokens - a.prompt_tokens - a.completion_tokens);
}

export interface Bar {
  date: string;
  turns: number;
  tokens: number;
  x: number;
  width: number;
  height: number;
  written: number; // of the height
}

// What the highest bar stands for.
export function mostOfADay(rows: UsageRow[]): number {
  const sums = new Map<string, number>();
  for (const row of rows) sums.set(row.date, (sums.get(row.date) ?? 0) + row.prompt_tokens + row.completion_tokens);
  return Math.max(0, ...sums.values());
}

// One bar a day, days without use too.
export function bars(rows: UsageRow[], days: number, today: Date, width: number, height: number): Bar[] {
  const sums = new Map<string, { turns: number; read: number; written: number }>();
  for (const row of rows) {
    const sum = sums.get(row.date) ?? { turns: 0, read: 0, written: 0 };
    sum.turns += row.turns;
    sum.read += row.prompt_tokens;
    sum.written += row.completion_tokens;
    sums.set(row.date, sum);
  }
  const most = Math.max(1, mostOfADay(rows));
  const step = width / days;
  return Array.from({ length: days }, (_, at) => {
    const date = new Date(today.getTime() - (days - 1 - at) * 86_400_000).toISOString().slice(0, 10);
    const sum = sums.get(date) ?? { turns: 0, read: 0, written: 0 };
    const tokens = sum.read + sum.written;
    return { date, turns: sum.turns, tokens, x: at * step, width: step * 0.8, height: (tokens / most) * height, written: (sum.written / most) * height };
  });
}

// Calls of models of one day, model or agent.
export interface CostGroup {
  name: string;
  calls: number;
  prompt_tokens: number;
  completion_tokens: number;
  cached_tokens: number;
  cost?: number;
}

export interface Limit {
  limit: string;
  unit: string;
  hard: boolean;
  amount: number;
  spent: number;
  reserved: number;
  left: number;
}

export function dollars(cost: number): string {
  return `$${cost.toFixed(cost < 1 ? 4 : 2)}`;
}

export function amount(limit: Limit, value: number): string {
  return limit.unit === 'calls' ? String(value) : dollars(value);
}

// In percent, what running calls may still cost included.
export function shareOf(limit: Limit): number {
  if (limit.amount === 0) return 100;
  return Math.min(100, Math.round(((limit.spent + limit.reserved) / limit.amount) * 100));
}

export interface CostBar {
  date: string;
  calls: number;
  cost: number;
  x: number;
  width: number;
  height: number;
}

// One bar a day of the engine's zone, days without calls too.
export function costBars(groups: CostGroup[], days: number, today: Date, zone: string, width: number, height: number): CostBar[] {
  const byDay = new Map(groups.map((group) => [group.name, group]));
  const most = Math.max(...groups.map((group) => group.cost ?? 0), 0) || 1;
  const step = width / days;
  const last = new Intl.DateTimeFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(today);
  const noon = Date.parse(`${last}T12:00:00Z`);
  return Array.from({ length: days }, (_, at) => {
    const date = new Date(noon - (days - 1 - at) * 86_400_000).toISOString().slice(0, 10);
    const day = byDay.get(date);
    const cost = day?.cost ?? 0;
    return { date, calls: day?.calls ?? 0, cost, x: at * step, width: step * 0.8, height: (cost / most) * height };
  });
}
