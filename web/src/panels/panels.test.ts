import { describe, expect, it } from 'vitest';
import { byGroup } from './extensions.ts';
import { underWay } from './jobs.ts';
import { merged, named, skillName, wrongName } from './skills.ts';
import { amount, costBars, dollars, shareOf } from './usage.ts';
import { newPath, visible, wrongPath } from './tree.ts';
import type { ThreadInfo } from '../chat/types.ts';

const entry = (path: string, is_dir = false): { path: string; is_dir: boolean } => ({ path, is_dir });

describe('documents', () => {
  it('are listed with folders first and without what is in closed ones', () => {
    const all = [entry('a.md'), entry('notes', true), entry('notes/b.md'), entry('notes/deep', true), entry('notes/deep/c.md')];
    expect(visible(all, []).map((each) => each.path)).toEqual(['notes', 'notes/deep', 'notes/deep/c.md', 'notes/b.md', 'a.md']);
    expect(visible(all, ['notes']).map((each) => each.path)).toEqual(['notes', 'a.md']);
  });
  it('get a free path, and none that leads elsewhere', () => {
    expect(newPath([entry('notes/new.md'), entry('notes/new-2.md')])).toBe('notes/new-3.md');
    for (const path of ['', '/a', 'a/', 'a//b', './a', 'a/..', 'taken.md']) expect(wrongPath(path, [entry('taken.md')])).not.toBe('');
    expect(wrongPath('notes/a b.md', [])).toBe('');
  });
});

describe('skills', () => {
  it('have names, and are found by them and by their text, once', () => {
    expect(skillName('skills/pruning/SKILL.md')).toBe('pruning');
    expect(skillName('skills/loose.md')).toBe('loose.md');
    const found = merged(named(['skills/roses/SKILL.md', 'skills/bread/SKILL.md'], 'Rose'), [
      { path: 'skills/roses/SKILL.md', content: 'best' }, { path: 'skills/roses/SKILL.md', content: 'other part' }, { path: 'notes/roses.md', content: 'no skill' },
    ]);
    expect(found).toEqual([{ path: 'skills/roses/SKILL.md', content: 'best' }]);
  });
  it('are not named like paths', () => {
    for (const name of ['', '..', 'a/b', 'a..b', '.a', 'roses']) expect(wrongName(name, ['skills/roses/SKILL.md'])).not.toBe('');
    expect(wrongName('roses-2.1', [])).toBe('');
  });
});

it('jobs are threads with a turn, those that wait first', () => {
  const thread = (id: string, state: string): ThreadInfo => ({ id, state, turn_count: 1, created_at: '', updated_at: '', agent: 'default', channel: 'gateway' });
  expect(underWay([thread('a', 'Idle'), thread('b', 'Processing'), thread('c', 'AwaitingApproval')]).map((each) => each.id)).toEqual(['c', 'b']);
});

it('tools are found by words, in their groups', () => {
  const tools = [{ name: 'time', description: 'the clock', group: 'core' }, { name: 'read_file', description: 'reads', group: 'files' }];
  expect(byGroup(tools, '')).toEqual([['core', [tools[0]]], ['files', [tools[1]]]]);
  expect(byGroup(tools, 'CLOCK the')).toEqual([['core', [tools[0]]]]);
});

describe('spending', () => {
  const group = (name: string, cost?: number): Parameters<typeof costBars>[0][0] => ({ name, calls: 2, prompt_tokens: 1, completion_tokens: 1, cached_tokens: 0, cost });
  const limit = { limit: 'all day', unit: 'usd', hard: true, amount: 2, spent: 0.5, reserved: 0.25, left: 1.25 };
  it('has a bar for each day of the zone that limits count by', () => {
    const late = new Date('2026-11-22T23:30:00Z');
    const bars = costBars([group('2026-11-21', 1), group('2026-11-23', 4), group('2026-11-22')], 3, late, 'Europe/Berlin', 300, 100);
    expect(bars.map((bar) => [bar.date, bar.cost, bar.height])).toEqual([['2026-11-21', 1, 25], ['2026-11-22', 0, 0], ['2026-11-23', 4, 100]]);
    expect(bars.map((bar) => bar.calls)).toEqual([2, 2, 2]);
    expect(costBars([], 2, late, 'UTC', 10, 10).map((bar) => [bar.date, bar.height])).toEqual([['2026-11-21', 0], ['2026-11-22', 0]]);
  });
  it('shows money with the digits that say something, and how much of a limit is used', () => {
    expect([dollars(0.0525), dollars(12.5), amount({ ...limit, unit: 'calls' }, 7), amount(limit, 2)]).toEqual(['$0.0525', '$12.50', '7', '$2.00']);
    expect([shareOf(limit), shareOf({ ...limit, spent: 9 }), shareOf({ ...limit, amount: 0 })]).toEqual([38, 100, 100]);
  });
});
