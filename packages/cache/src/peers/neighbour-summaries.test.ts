import { TurnClock } from '@bloomery/testkit/turn-clock';
import { hashKey } from 'bloomery';
import { positionOf } from 'bloomery/wire';
import { expect, test } from 'vitest';
import { NeighbourSummaries, type SummaryMember, type SummaryPositions } from './neighbour-summaries.ts';
import { SlicedWork } from './sliced-work.ts';

/** A set of positions as a sorted array: slow and plain. */
class PlainPositions implements SummaryPositions {
  readonly universe: number;
  readonly #sorted: number[] = [];

  constructor(universe: number, positions: Iterable<number> = []) {
    this.universe = universe;
    for (const position of positions) this.add(position);
  }

  get size(): number {
    return this.#sorted.length;
  }

  get byteLength(): number {
    return 5 * this.size;
  }

  hasPosition(position: number): boolean {
    return this.#sorted[this.#rank(position)] === position;
  }

  #rank(position: number): number {
    let [from, to] = [0, this.#sorted.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.#sorted[middle] < position) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  /** Goes on behind the last position, whatever changed. */
  *positions(): Generator<number> {
    let next = 0;
    for (;;) {
      const position = this.#sorted[this.#rank(next)];
      if (position === undefined) return;
      yield position;
      next = position + 1;
    }
  }

  add(position: number): boolean {
    if (this.hasPosition(position)) return false;
    this.#sorted.splice(this.#rank(position), 0, position);
    return true;
  }

  delete(position: number): boolean {
    if (!this.hasPosition(position)) return false;
    this.#sorted.splice(this.#rank(position), 1);
    return true;
  }
}

class Member implements SummaryMember {
  readonly address: string;
  readonly keyId = 1;
  positions: PlainPositions | null = null;

  constructor(address: string) {
    this.address = address;
  }
}

function summariesOf(limitBytes = 1e8) {
  const clock = new TurnClock({ tickMs: 0.4 });
  const work = new SlicedWork(clock);
  const summaries = new NeighbourSummaries({
    limitBytes,
    work,
    failed: (error) => {
      throw error;
    },
  });
  const settle = () => {
    while (clock.isBusy) clock.turn();
  };
  return { summaries, settle, clock };
}

const names = (members: readonly SummaryMember[]) => members.map(({ address }) => address).sort();
const hashOf = (key: string) => ({ ...hashKey(key, { seed: 3 }), keyId: 1 });

test('candidates are exactly the neighbours whose set has the position, at every moment', () => {
  const { summaries, clock } = summariesOf();
  const members = Array.from({ length: 40 }, (_, i) => new Member(`n${i}`));
  let seed = 1;
  const random = (below: number) => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  const keys = Array.from({ length: 400 }, (_, i) => `key-${i}`);
  for (let round = 0; round < 1500; round++) {
    const member = members[random(members.length)];
    const { positions } = member;
    const kind = random(20);
    if (positions === null || kind === 0) {
      const universe = 2 ** (18 + random(3));
      const held = keys.filter(() => random(2) === 0);
      member.positions = new PlainPositions(
        universe,
        held.map((key) => positionOf(hashOf(key), universe)),
      );
      expect(summaries.reset(member)).toBe(true);
    } else if (kind === 1) {
      member.positions = null;
      summaries.reset(member);
    } else {
      const position = positionOf(hashOf(keys[random(keys.length)]), positions.universe);
      if (random(2) === 0) {
        if (positions.add(position)) summaries.change(member, [position], 0);
      } else if (positions.delete(position)) summaries.change(member, [], 1);
    }
    if (random(3) === 0) clock.turn();
    const key = keys[random(keys.length)];
    const expected = members.filter(
      ({ positions: set }) => set?.hasPosition(positionOf(hashOf(key), set.universe)) ?? false,
    );
    expect(names(summaries.candidates(hashOf(key)))).toEqual(names(expected));
  }
});

test('candidates are at most as many as asked for', () => {
  const { summaries, settle } = summariesOf();
  for (let i = 0; i < 10; i++) {
    const member = new Member(`n${i}`);
    member.positions = new PlainPositions(2 ** 20, [positionOf(hashOf('x'), 2 ** 20)]);
    summaries.reset(member);
  }
  expect(summaries.candidates(hashOf('x'), 3)).toHaveLength(3);
  settle();
  expect(summaries.candidates(hashOf('x'), 3)).toHaveLength(3);
  expect(summaries.candidates(hashOf('x'))).toHaveLength(10);
});

test('a table is folded when memory is short, and a summary beyond the limit is left out', () => {
  const { summaries, settle } = summariesOf(60_000);
  const kept: Member[] = [];
  let refused = 0;
  for (let i = 0; i < 12; i++) {
    const member = new Member(`n${i}`);
    const universe = 2 ** 24;
    member.positions = new PlainPositions(
      universe,
      Array.from({ length: 1000 }, (_, j) => positionOf(hashOf(`${i}-${j}`), universe)),
    );
    if (summaries.reset(member)) kept.push(member);
    else refused++;
    expect(summaries.byteLength).toBeLessThanOrEqual(60_000);
  }
  settle();
  expect(refused).toBeGreaterThan(0);
  expect(kept.length).toBeGreaterThan(5);
  for (const [i, member] of kept.entries()) {
    const name = member.address.slice(1);
    for (let j = 0; j < 1000; j += 7)
      expect(names(summaries.candidates(hashOf(`${name}-${j}`)))).toContain(kept[i].address);
  }
});

test('a summary that outgrows its table gets a larger one', () => {
  const { summaries, settle } = summariesOf();
  const universe = 2 ** 26;
  const member = new Member('a');
  member.positions = new PlainPositions(universe);
  summaries.reset(member);
  const before = summaries.byteLength;
  for (let i = 0; i < 5000; i++) {
    const position = positionOf(hashOf(`k${i}`), universe);
    if (member.positions.add(position)) summaries.change(member, [position], 0);
  }
  settle();
  expect(summaries.byteLength).toBeGreaterThan(4 * before);
  for (let i = 0; i < 5000; i += 11) expect(summaries.candidates(hashOf(`k${i}`))).toEqual([member]);
});

test('a change of many positions enters the table in steps, and counts at once', () => {
  const { summaries, settle, clock } = summariesOf();
  const universe = 2 ** 45;
  const member = new Member('a');
  member.positions = new PlainPositions(universe, wholesale('old', universe, 9000));
  summaries.reset(member);
  settle();
  const added = wholesale('new', universe, 6000).filter((position) => member.positions!.add(position));
  summaries.change(member, Float64Array.from(added), 0);
  // A rebuild that begins and ends meanwhile does not make the table complete.
  for (const position of wholesale('old', universe, 9000)) {
    if (member.positions.delete(position)) summaries.change(member, [], 1);
  }
  let turns = 0;
  for (; clock.isBusy; turns++) {
    clock.turn();
    for (let i = 0; i < 6000; i += 501) expect(summaries.candidates(hashOf(`new${i}`))).toEqual([member]);
  }
  expect(turns).toBeGreaterThan(6);
  for (let i = 0; i < 6000; i++) expect(summaries.candidates(hashOf(`new${i}`))).toEqual([member]);
});

test('a large table gets more columns in steps, and each neighbour is found meanwhile', () => {
  const { summaries, clock } = summariesOf();
  const universe = 2 ** 45;
  const members = Array.from({ length: 9 }, (_, i) => new Member(`n${i}`));
  let turns = 0;
  for (const member of members) {
    member.positions = new PlainPositions(universe, wholesale(member.address, universe, 30_000));
    summaries.reset(member);
    for (turns = 0; clock.isBusy; turns++) {
      clock.turn();
      for (const each of members) {
        const expected = each.positions === null ? [] : [each];
        expect(summaries.candidates(hashOf(`${each.address}${17 * turns}`))).toEqual(expected);
      }
    }
  }
  // The ninth column has made the table larger, and all columns were built again.
  expect(turns).toBeGreaterThan((9 * 30_000) / 512 / 3);
});

function wholesale(name: string, universe: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => positionOf(hashOf(`${name}${i}`), universe));
}
