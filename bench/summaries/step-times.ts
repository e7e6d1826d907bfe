/**
 * CPU time of each step of a node that publishes a large summary and follows others: "no stall".
 * One publisher of a million objects, of which 5 % change in a second, in four publications; and 64
 * neighbours of 100,000 objects, of which 1 % change in a second. The parts are those of a node:
 * the keeper, the library's publisher and subscriber, and the table of all neighbours.
 */

import { MAX_MESSAGE_BYTES } from '@bloomery/transport';
import { hashKey, hashScheme, type KeyHash, SecretKey } from 'bloomery';
import { SetPublisher, SetSubscriber } from 'bloomery/wire';
import { SummaryKeeper } from '../../packages/cache/src/peers/decisions/summary-keeper.ts';
import { universeFor } from '../../packages/cache/src/peers/decisions/summary-universe.ts';
import {
  NeighbourSummaries,
  type SummaryMember,
  type SummaryPositions,
} from '../../packages/cache/src/peers/neighbour-summaries.ts';
import { SlicedWork } from '../../packages/cache/src/peers/sliced-work.ts';
import { TurnClock } from '../../packages/testkit/src/turn-clock.ts';
import { StepMeter, type StepTimes } from './step-meter.ts';

const SCHEME = hashScheme({ key: new SecretKey(new Uint8Array(16).fill(7)) });
const NEIGHBOURS = 64;

/** Names of the work, in the order of the table. */
const WORK = {
  keep: 'keeper: `keep` and `drop`, one call',
  next: 'keeper: `next`, keys go stale',
  publish: '`publishInSteps`',
  receive: '`receiveInSteps` of a delta',
  answer: '`answerInSteps`, 7 generations behind',
  catchUp: '`receiveInSteps` of that answer',
  full: '`fullInSteps`',
  receiveFull: '`receiveInSteps` of a full state',
  grow: '`resizeInSteps`',
  change: 'neighbours: `receiveInSteps`, with the table',
  reset: 'neighbours: `receiveInSteps` of a full state',
  rebuild: 'neighbours: rebuild of a column',
} as const;

const PASSES = 3;

export function stepTimesLines(quick: boolean): string[] {
  const keys = quick ? 1e5 : 1e6;
  const meter = new StepMeter();
  // Without measuring, until V8 has compiled everything.
  for (let i = 0; i < 3; i++) measurePublisher(meter, 4e4, 16);
  measureNeighbours(meter, 8, 2e4);
  for (let pass = 0; pass < PASSES; pass++) {
    process.stderr.write(`steps, pass ${pass + 1} of ${PASSES}\n`);
    meter.begin();
    measurePublisher(meter, keys, quick ? 8 : 24);
    measureNeighbours(meter, quick ? 8 : NEIGHBOURS, quick ? 1e4 : 1e5);
  }
  return [
    '## CPU time of single steps',
    '',
    `A summary of ${keys.toLocaleString('en')} keys with ${(keys / 80).toLocaleString('en')} additions and as many deletions in each publication (four of`,
    `them replace 5 %), and ${NEIGHBOURS} neighbours of 100,000 keys with 250 additions and 250 deletions in each`,
    'message. Milliseconds of CPU time; the node gives way between two steps. A step counts with its shortest time',
    `in ${PASSES} passes; the last column has collections of the garbage collector in it.`,
    '',
    '| work | steps | all | p99 | worst | worst seen |',
    '|---|---:|---:|---:|---:|---:|',
    ...Object.values(WORK).map((name) => row(meter.timesOf(name))),
    '',
  ];
}

function row({ name, steps, total, p99, worst, worstSeen }: StepTimes): string {
  const cells = [name, steps.toLocaleString('en'), total.toFixed(0), ...[p99, worst, worstSeen].map(digits)];
  return `| ${cells.join(' | ')} |`;
}

function digits(ms: number): string {
  return ms.toFixed(3);
}

function measurePublisher(meter: StepMeter, keys: number, rounds: number): void {
  const churn = keys / 80;
  let wallMs = 0;
  const now = () => ({ wallMs, steadyMs: wallMs });
  const publisher = new SetPublisher({ incarnation: 1, universe: 2 ** 20, scheme: SCHEME });
  const keeper = new SummaryKeeper({
    publisher,
    scheme: SCHEME,
    neighbours: NEIGHBOURS,
    mostBytes: MAX_MESSAGE_BYTES,
    pace: () => ({ send: 'all', waitMs: 0 }),
    now: now(),
  });
  const subscriber = new SetSubscriber({ maxPositions: 2 * keys });
  /** Runs the keeper until a message is to be sent. */
  const message = (): Uint8Array => {
    for (;;) {
      const step = meter.step(WORK.next, () => keeper.next(now()));
      if (step.kind === 'wait') continue;
      const sent = meter.run(step.kind === 'resize' ? WORK.grow : WORK.publish, step.steps);
      keeper.finish(sent, now());
      if (sent !== null) return sent;
    }
  };
  const keep = (key: number, until: number) => {
    const hash = hashOf(key);
    meter.step(WORK.keep, () => keeper.keep(hash, until, now()));
  };
  // Half of the keys that go were dropped by the store, and half go stale.
  for (let key = 0; key < keys; key++) {
    keep(key, key % 2 === 0 ? 1e9 : freshUntil(key, churn));
    if (key % churn === churn - 1) message();
  }
  meter.run(WORK.receiveFull, subscriber.receiveInSteps(meter.run(WORK.full, publisher.fullInSteps())));
  /** A subscriber that misses the next messages. */
  let late = subscriber;
  for (let round = 0; round < rounds; round++) {
    wallMs += 250;
    const first = round * churn;
    for (let key = first; key < first + churn; key++) {
      const hash = hashOf(key);
      if (key % 2 === 0) meter.step(WORK.keep, () => keeper.drop(hash, now()));
      keep(keys + key, (keys + key) % 2 === 0 ? 1e9 : freshUntil(keys + key, churn));
    }
    const delta = message();
    if (round % 8 === 0) late = new SetSubscriber({ maxPositions: 2 * keys });
    if (round % 8 === 0) expectTaken(late.receive(meter.run(WORK.full, publisher.fullInSteps())).verdict);
    expectTaken(meter.run(WORK.receive, subscriber.receiveInSteps(delta)).verdict);
    if (round % 8 !== 7) continue;
    const answer = meter.run(WORK.answer, publisher.answerInSteps(late.request()))!;
    expectTaken(meter.run(WORK.catchUp, late.receiveInSteps(answer)).verdict);
  }
}

/** Keys go stale in the order of their numbers, `churn` of them in 250 ms. */
function freshUntil(key: number, churn: number): number {
  return 2000 + 250 * (Math.floor(key / churn) + 1);
}

function measureNeighbours(meter: StepMeter, count: number, keys: number): void {
  const clock = new TurnClock({ tickMs: 10 });
  const work = new SlicedWork(clock);
  const summaries = new NeighbourSummaries({
    limitBytes: 2 ** 30,
    work,
    failed: (error) => {
      throw error;
    },
  });
  /** A turn is one step, because each look at this clock takes 10 ms. */
  const runAll = () => {
    while (clock.isBusy) meter.step(WORK.rebuild, () => clock.turn());
  };
  const universe = universeFor(keys, NEIGHBOURS);
  const members = Array.from({ length: count }, (_, n) => newMember(n, keys, universe, summaries));
  for (const { publisher, subscriber } of members) {
    const full = publisher.full();
    expectTaken(meter.run(WORK.reset, subscriber.receiveInSteps(full)).verdict);
    runAll();
  }
  for (let round = 0; round < 20; round++) {
    for (const member of members) {
      member.replace(keys / 400);
      const delta = member.publisher.publish()!;
      expectTaken(meter.run(WORK.change, member.subscriber.receiveInSteps(delta)).verdict);
      runAll();
    }
  }
}

interface Member extends SummaryMember {
  readonly publisher: SetPublisher;
  readonly subscriber: SetSubscriber;
  replace(count: number): void;
}

function newMember(n: number, keys: number, universe: number, summaries: NeighbourSummaries): Member {
  const start = 1e8 * (n + 1);
  let first = start;
  const publisher = new SetPublisher({ incarnation: 1, universe, scheme: SCHEME });
  publisher.resize(universe, hashesOf(first, first + keys));
  const subscriber: SetSubscriber = new SetSubscriber({
    maxPositions: 2 * keys,
    onChange: (change) => {
      if (change.kind === 'reset') summaries.reset(member);
      else summaries.change(member, change.added, change.removed.length);
    },
  });
  const member: Member = {
    address: `neighbour ${n}`,
    keyId: 0,
    publisher,
    subscriber,
    get positions(): SummaryPositions | null {
      return subscriber.generation === undefined ? null : subscriber;
    },
    replace(count) {
      for (const hash of hashesOf(first, first + count)) publisher.deleteHash(hash);
      for (const hash of hashesOf(first + keys, first + keys + count)) publisher.addHash(hash);
      first += count;
    },
  };
  return member;
}

function hashOf(key: number): KeyHash {
  return hashKey(key, SCHEME);
}

function* hashesOf(from: number, to: number): Generator<KeyHash, void> {
  for (let key = from; key < to; key++) yield hashOf(key);
}

function expectTaken(verdict: string): void {
  if (verdict !== 'taken')
    throw new Error(`Cannot measure: expected a message that is taken, got ${verdict}`);
}
