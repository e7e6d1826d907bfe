import { expect, test } from 'vitest';
import { Hypotheses } from './hypotheses.ts';
import { ToldHashes } from './told-hashes.ts';

const A = 'aa'.repeat(32);
const B = 'bb'.repeat(32);

test('Hypotheses prefers the list with most votes, then none, then contested lists', () => {
  const hypotheses = new Hypotheses();
  expect(hypotheses.best(false, 0)).toBeNull();
  expect(hypotheses.best(true, 0)).toEqual({ kind: 'open' });
  hypotheses.state('p', { list: A, isComplete: true });
  hypotheses.state('q', { list: B, isComplete: false });
  hypotheses.state('r', { list: B, isComplete: true });
  expect(hypotheses.best(true, 0)).toMatchObject({ kind: 'list', name: B });
  expect(hypotheses.supporters(B)).toEqual(['r', 'q']);
  hypotheses.contest(B);
  expect(hypotheses.best(true, 0)).toMatchObject({ name: A, isContested: false });
  expect(hypotheses.refute(A)).toEqual(['p']);
  expect(hypotheses.best(true, 0)).toEqual({ kind: 'open' });
  hypotheses.refuteOpen();
  expect(hypotheses.best(true, 0)).toMatchObject({ name: B, isContested: true });
  expect(hypotheses.refute(B)).toEqual(['r']);
  expect(hypotheses.best(true, 0)).toBeNull();
});

test('Hypotheses does not ask a peer again for 5 s for a list that it did not send', () => {
  const hypotheses = new Hypotheses();
  hypotheses.state('p', { list: A, isComplete: true });
  hypotheses.doubt('p', 0);
  expect([hypotheses.best(false, 4999), hypotheses.givers(A, 4999)]).toEqual([null, []]);
  expect([hypotheses.best(false, 5000)?.kind, hypotheses.givers(A, 5000)]).toEqual(['list', ['p']]);
  hypotheses.state('p', { list: B, isComplete: true });
  expect(hypotheses.best(false, 0)).toMatchObject({ name: B });
});

test('ToldHashes finds disputes, contradictions, vouchers and liars', () => {
  const told = new ToldHashes();
  expect(told.tell('p', 3, A, true)).toBe(true);
  expect(told.tell('q', 3, A, false)).toBe(true);
  expect([told.isDisputed(3), told.voucherOf(3, A), told.hashOf('q', 3)]).toEqual([false, 'p', A]);
  expect(told.tell('liar', 3, B, true)).toBe(true);
  expect(told.isDisputed(3)).toBe(true);
  expect(told.settle(3, A)).toEqual(['liar']);
  told.forget('liar');
  expect(told.isDisputed(3)).toBe(false);
  expect(told.tell('p', 3, B, true)).toBe(false);
});

test('ToldHashes remembers at most four hashes of a block', () => {
  const told = new ToldHashes();
  for (let i = 0; i < 100; i++) told.tell(`p${i}`, 0, `${i}`.padStart(64, '0'), true);
  expect(told.settle(0, A)).toHaveLength(4);
});
