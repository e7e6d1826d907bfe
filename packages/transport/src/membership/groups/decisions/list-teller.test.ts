import { expect, test } from 'vitest';
import { GroupDirectory } from './group-directory.ts';
import { ListTeller } from './list-teller.ts';

const claim = { epoch: 5, leader: 'a', stability: 9 };
const view = { claim, members: ['b', 'a'], isWanted: false, nowMs: 0, wallMs: 1_700_000_000_000 };

test('ListTeller tells a change at once, and repeats an unchanged list after its pause', () => {
  const teller = new ListTeller('rack', 1000);
  expect(teller.look(view)).toEqual({
    group: 'rack',
    claim,
    version: 1_700_000_000_000,
    members: ['a', 'b'],
  });
  expect(teller.look({ ...view, nowMs: 999, wallMs: view.wallMs + 999 })).toBe(null);
  expect(teller.look({ ...view, nowMs: 1000, wallMs: view.wallMs + 1000 })?.version).toBe(1_700_000_001_000);
  expect(teller.look({ ...view, nowMs: 1001, members: ['a'] })?.members).toEqual(['a']);
  expect(teller.look({ ...view, nowMs: 1002, members: ['a'], isWanted: true })).not.toBe(null);
  expect(teller.look({ ...view, nowMs: 1003, members: ['a'], claim: { ...claim, epoch: 6 } })).not.toBe(null);
});

test('ListTeller is silent while another node leads', () => {
  const teller = new ListTeller('rack');
  expect(teller.look({ ...view, claim: null, isWanted: true })).toBe(null);
});

test('the lists of a leader that restarts under its old claim are later than those before', () => {
  const directory = new GroupDirectory({ own: null });
  const before = new ListTeller('rack');
  for (let look = 0; look < 5; look++) {
    const list = before.look({
      ...view,
      members: ['a', 'b', `c${look}`],
      nowMs: look,
      wallMs: view.wallMs + look,
    });
    expect(directory.hear(list!, look)).toBe(true);
  }
  const after = new ListTeller('rack').look({ ...view, members: ['a'], wallMs: view.wallMs + 2000 });
  expect(directory.hear(after!, 2000)).toBe(true);
  expect(directory.list('rack')?.members).toEqual(['a']);
});
