import { describe, expect, it } from 'vitest';
import { atEnd, earlier, grown, LARGEST, later, shifted, STEP } from './window.ts';

describe('what of a long thread is in the document', () => {
  it('is never more than the bound, whichever way one reads', () => {
    let stretch = atEnd(1000);
    for (let step = 0; step < 60; ++step) {
      stretch = earlier(stretch, 1000);
      expect(stretch.end - stretch.start).toBeLessThanOrEqual(LARGEST);
    }
    expect(stretch.start).toBe(0);
    for (let step = 0; step < 60; ++step) stretch = later(stretch, 1000);
    expect(stretch).toEqual({ start: 1000 - LARGEST, end: 1000 });
  });
  it('follows what comes for a reader at the end, and stays for one above', () => {
    expect(grown(atEnd(1000), 1000, 1001).end).toBe(1001);
    const above = { start: 100, end: 160 };
    expect(grown(above, 1000, 1001)).toEqual(above);
    let long = atEnd(1000);
    for (let length = 1000; length < 1500; ++length) long = grown(long, length, length + 1);
    expect(long.end - long.start).toBeLessThanOrEqual(LARGEST + STEP);
  });
  it('moves with the items when older ones are put in front, and shrinks with the thread', () => {
    expect(shifted({ start: 0, end: 40 }, 40)).toEqual({ start: 40, end: 80 });
    expect(grown({ start: 0, end: 40 }, 40, 10)).toEqual({ start: 0, end: 10 });
  });
});
