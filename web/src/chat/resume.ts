// Taking the event stream up again: where it stood, and when to try.

// Event ids are "<record>.<delta>". True when `a` comes after `b`; false when one of them is no place.
export function isAfter(a: string, b: string): boolean {
  const [ra, da] = parts(a);
  const [rb, db] = parts(b);
  return ra > rb || (ra === rb && da > db);
}

function parts(id: string): [number, number] {
  const match = /^(\d+)\.(\d+)$/.exec(id);
  return match ? [Number(match[1]), Number(match[2])] : [Number.NaN, Number.NaN];
}

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;

// Doubles from half a second to half a minute; `random` in [0, 1) spreads the clients of an engine that restarts.
export function delayBefore(attempt: number, random: number): number {
  const full = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(attempt, 10));
  return Math.round(full * (0.5 + random / 2));
}

// A place that the engine has never given: it answers with the text so far of all running answers, then goes on live.
export const FROM_NOW = 'now';

// The place to go on from. A reset without an id leaves the place as it was.
export class Place {
  #last = '';
  get last(): string {
    return this.#last || FROM_NOW;
  }
  saw(id: string): void {
    if (id !== '') this.#last = id;
  }
  forget(): void {
    this.#last = '';
  }
}
