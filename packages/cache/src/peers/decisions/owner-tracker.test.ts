import { expect, test } from 'vitest';
import type { OwnerAnswer } from './owner-question.ts';
import { OwnerTracker, type TrackerOptions } from './owner-tracker.ts';

const hash = { low: 1, high: 2 };

/** A tracker whose questions are all about one key, with a time of its own. */
class Desk {
  readonly tracker: OwnerTracker;
  now = 0;
  down: string[] = [];

  constructor(options: TrackerOptions = {}) {
    this.tracker = new OwnerTracker(options);
  }

  want(node: string): string {
    return text(this.tracker.answer({ kind: 'want', hash }, node, this.now, this.#isUp));
  }

  lost(node: string, source: string): string {
    return text(this.tracker.answer({ kind: 'lost', hash, source }, node, this.now, this.#isUp));
  }

  tell(kind: 'done' | 'left' | 'unshareable', node: string): void {
    expect(text(this.tracker.answer({ kind, hash }, node, this.now, this.#isUp))).toBe('noted');
  }

  /** Lets nodes want the object in turn, and returns what they are told. */
  herd(nodes: string): string[] {
    return [...nodes].map((node) => this.want(node));
  }

  readonly #isUp = (node: string): boolean => !this.down.includes(node);
}

function text(answer: OwnerAnswer): string {
  return answer.kind === 'ask' ? answer.node : answer.kind;
}

test('the first node fetches, and the others form a tree in which each feeds two', () => {
  expect(new Desk().herd('abcdefg')).toEqual(['fetch', 'a', 'a', 'b', 'b', 'c', 'c']);
});

test('keys do not mix', () => {
  const { tracker } = new Desk();
  tracker.answer({ kind: 'want', hash }, 'a', 0);
  expect(tracker.answer({ kind: 'want', hash }, 'b', 0)).toEqual({ kind: 'ask', node: 'a' });
  for (const other of [
    { low: 2, high: 1 },
    { low: 1, high: 3 },
  ])
    expect(tracker.answer({ kind: 'want', hash: other }, 'b', 0)).toEqual({ kind: 'fetch' });
});

test('a repeated question gets the same answer and takes no second place', () => {
  const desk = new Desk();
  desk.herd('abc');
  expect(desk.herd('abcabc')).toEqual(['fetch', 'a', 'a', 'fetch', 'a', 'a']);
  expect(desk.herd('de')).toEqual(['b', 'b']);
});

test('the first node that lost the fetching one fetches, and the others are sent to it', () => {
  const desk = new Desk();
  desk.herd('abcdefg');
  expect(desk.lost('c', 'a')).toBe('fetch');
  expect(desk.lost('b', 'a')).toBe('f');
  expect(desk.herd('hi')).toEqual(['f', 'g']);
});

test('a lost node in the middle costs no fetch', () => {
  const desk = new Desk();
  desk.herd('abcdefg');
  // The place of b below a is free.
  expect(desk.lost('d', 'b')).toBe('a');
  expect(desk.lost('e', 'b')).toBe('d');
});

test('a node is not sent to one that waits for it, over several nodes', () => {
  const desk = new Desk();
  expect(desk.herd('abcdefgh')).toEqual(['fetch', 'a', 'a', 'b', 'b', 'c', 'c', 'd']);
  desk.tell('done', 'b');
  desk.down = ['a', 'c', 'e'];
  // b no longer has the object. d and h are up, but their bytes come from b.
  expect(desk.want('b')).toBe('fetch');
});

test('a node is not sent to one whose source is down', () => {
  const desk = new Desk();
  desk.herd('abcd');
  desk.down = ['a'];
  expect(desk.herd('ef')).toEqual(['fetch', 'e']);
});

test('a node that is shunned is offered again once it speaks', () => {
  const desk = new Desk();
  desk.herd('ab');
  expect(desk.lost('b', 'a')).toBe('fetch');
  expect(desk.want('c')).toBe('b');
  desk.tell('done', 'a');
  expect(desk.want('d')).toBe('a');
});

test('a node that reports itself as lost shuns no node', () => {
  const desk = new Desk();
  desk.herd('ab');
  expect(desk.lost('a', 'a')).toBe('fetch');
  expect(desk.want('c')).toBe('a');
});

test('a node that lost a source which the owner did not name is told its place again', () => {
  const desk = new Desk();
  desk.herd('abcd');
  expect(desk.lost('d', 'c')).toBe('b');
  expect(desk.lost('d', 'unknown')).toBe('b');
});

test('a node that is done feeds others, and takes no place at its source', () => {
  const desk = new Desk();
  desk.herd('abc');
  desk.tell('done', 'b');
  expect(desk.want('d')).toBe('a');
  expect(desk.want('e')).toBe('b');
  // It lost what it had, and wants it again.
  expect(desk.want('b')).toBe('c');
});

test('nodes that are down are not offered', () => {
  const desk = new Desk();
  desk.herd('ab');
  desk.down = ['b'];
  expect(desk.herd('cde')).toEqual(['a', 'c', 'c']);
  desk.down = ['a', 'b', 'c', 'd', 'e'];
  expect(desk.want('f')).toBe('fetch');
});

test('a node that left is not offered', () => {
  const desk = new Desk();
  desk.herd('a');
  desk.tell('left', 'a');
  expect(desk.herd('bc')).toEqual(['fetch', 'b']);
});

test('every node fetches an object that may not be shared, for a while', () => {
  const desk = new Desk({ unshareableMs: 100, ttlMs: 50 });
  desk.herd('abc');
  desk.tell('unshareable', 'a');
  expect(desk.herd('bcd')).toEqual(['fetch', 'fetch', 'fetch']);
  desk.now = 99;
  expect(desk.want('e')).toBe('fetch');
  desk.now = 100;
  expect(desk.herd('ab')).toEqual(['fetch', 'a']);
});

test('a claim ends by its time to live, and a repeated question renews it', () => {
  const desk = new Desk({ ttlMs: 100 });
  desk.herd('a');
  desk.now = 60;
  desk.herd('b');
  desk.now = 101;
  // The claim of a has ended, so the chain from b leads to a forgotten node.
  expect(desk.want('c')).toBe('fetch');
  desk.now = 110;
  expect(desk.want('d')).toBe('c');
  desk.now = 180;
  desk.want('c');
  desk.now = 270;
  expect(desk.want('e')).toBe('c');
});

test('keys are forgotten when their claims have ended, and beyond their number', () => {
  const tracker = new OwnerTracker({ ttlMs: 100, unshareableMs: 0, mostKeys: 10 });
  const want = (low: number, now: number) =>
    text(tracker.answer({ kind: 'want', hash: { low, high: 0 } }, 'b', now));
  for (let low = 0; low < 20; low++) {
    want(low, low);
    // The first key is spoken about again and again, so it outlasts the others.
    text(tracker.answer({ kind: 'want', hash: { low: 0, high: 0 } }, 'a', low));
  }
  expect(tracker.keys).toBe(10);
  expect(text(tracker.answer({ kind: 'want', hash: { low: 0, high: 0 } }, 'c', 19))).toBe('b');
  want(100, 115);
  // Keys 15 to 19, the first one and the new one.
  expect(tracker.keys).toBe(7);
});

test('nodes beyond the number per key fetch, and are not remembered', () => {
  const desk = new Desk({ mostNodesPerKey: 3 });
  expect(desk.herd('abcdde')).toEqual(['fetch', 'a', 'a', 'fetch', 'fetch', 'fetch']);
  expect(desk.want('c')).toBe('a');
});
