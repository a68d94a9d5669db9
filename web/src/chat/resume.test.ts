import { describe, expect, it } from 'vitest';
import { delayBefore, FROM_NOW, isAfter, Place } from './resume.ts';

describe('event ids', () => {
  it('compare as numbers, records before deltas', () => {
    expect(isAfter('10.0', '9.5')).toBe(true);
    expect(isAfter('9.10', '9.9')).toBe(true);
    expect(isAfter('9.9', '9.9')).toBe(false);
    expect(isAfter('8.99', '9.0')).toBe(false);
  });
  it('that are none are after nothing', () => {
    for (const id of ['', 'now', '1', '1.2.3', '-1.0']) {
      expect(isAfter(id, '1.0')).toBe(false);
      expect(isAfter('1.0', id)).toBe(false);
    }
  });
});

describe('the place to go on from', () => {
  it('is none at first, then the last id seen', () => {
    const place = new Place();
    expect(place.last).toBe(FROM_NOW);
    place.saw('3.1');
    place.saw('');
    expect(place.last).toBe('3.1');
    place.forget();
    expect(place.last).toBe(FROM_NOW);
  });
});

describe('waiting before the next try', () => {
  it('doubles up to half a minute and is never the same for all', () => {
    expect(delayBefore(0, 0)).toBe(250);
    expect(delayBefore(1, 0)).toBe(500);
    expect(delayBefore(50, 0.999)).toBeLessThanOrEqual(30_000);
    expect(delayBefore(50, 0)).toBe(15_000);
    expect(delayBefore(3, 0.9)).toBeGreaterThan(delayBefore(3, 0.1));
  });
});
