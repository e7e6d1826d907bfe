import { Simulation } from '@bloomery/sim';
import { expect, test } from 'vitest';
import { HotObjects } from '../../peers/decisions/hot-objects.ts';
import { NodeFlights } from '../node-flights.ts';
import { ObjectCache } from '../object-cache.ts';
import { SimulatedEntry } from './simulated-entry.ts';

const SUMMARY = { epoch: 1, sequence: 1 };
const STORED = { kind: 'stored', waitMs: 0, rest: null } as const;
const COMING = { kind: 'coming', waitMs: 200, rest: null } as const;

/** A node that holds object 1 and fetches object 2. Answers are noted as text. */
function start() {
  const simulation = new Simulation({ seed: 1 });
  const cache = new ObjectCache({ capacity: 10, expectedEntries: 10, copiesShare: 0 });
  const flights = new NodeFlights();
  const awaited = new Set<string>();
  const entry = new SimulatedEntry({
    clock: simulation.clockOf('holder'),
    cache,
    flights,
    hot: new HotObjects(),
    summary: () => SUMMARY,
    isWaitingFor: (node) => awaited.has(node),
  });
  cache.put(1, 1, false);
  flights.begin(2, () => {});
  const answers: string[] = [];
  const ask = (asker: string, object: number, question: typeof STORED | typeof COMING) =>
    entry.answerAsk(asker, object, question, {
      waits: () => answers.push(`${asker} waits`),
      found: (from, _, isHot) => answers.push(`${asker} found in ${from}${isHot ? ', hot' : ''}`),
      refused: (_, tryNode) => answers.push(`${asker} refused${tryNode === null ? '' : `, try ${tryNode}`}`),
      lost: () => answers.push(`${asker} lost`),
    });
  const pass = (ms: number) => simulation.run({ untilMs: simulation.elapsedMs + ms });
  return { entry, flights, awaited, answers, ask, pass };
}

test('SimulatedEntry gives only objects that the node holds', () => {
  const { answers, ask } = start();
  ask('a', 1, STORED);
  ask('a', 2, STORED);
  ask('a', 3, STORED);
  ask('a', 3, COMING);
  expect(answers).toEqual(['a found in store', 'a refused', 'a refused', 'a refused']);
});

test('SimulatedEntry says which object is hot', () => {
  const { answers, ask } = start();
  for (let i = 0; i < 1024; i++) ask('a', 1, STORED);
  expect(answers.at(-2)).toBe('a found in store');
  expect(answers.at(-1)).toBe('a found in store, hot');
});

test('SimulatedEntry lets two neighbours wait for a fetch, and sends a third to one of them', () => {
  const { answers, ask, flights } = start();
  for (const asker of ['a', 'b', 'c']) ask(asker, 2, COMING);
  expect(answers).toHaveLength(1);
  expect(answers[0]).toMatch(/^c refused, try [ab]$/);
  flights.land(2, 'origin');
  expect(answers.slice(1)).toEqual(['a found in flight', 'b found in flight']);
});

test('SimulatedEntry refuses a neighbour whose time is over, and one that it waits for itself', async () => {
  const { answers, ask, flights, awaited, pass } = start();
  ask('a', 2, COMING);
  awaited.add('b');
  ask('b', 2, COMING);
  await pass(199);
  expect(answers).toEqual(['b refused']);
  await pass(2);
  expect(answers).toEqual(['b refused', 'a refused']);
  flights.land(2, 'origin');
  expect(answers).toHaveLength(2);
});

test('SimulatedEntry tells that its fetch waits for the origin, and the neighbour waits on', async () => {
  const { answers, ask, flights, pass } = start();
  ask('a', 2, COMING);
  flights.root(2);
  ask('b', 2, COMING);
  await pass(5000);
  expect(answers).toEqual(['a waits', 'b waits']);
  flights.land(2, 'origin');
  expect(answers.slice(2)).toEqual(['a found in flight', 'b found in flight']);
});

test('SimulatedEntry forgets a neighbour that has left, so another one may wait', () => {
  const { answers, ask, flights } = start();
  const leave = ask('a', 2, COMING);
  ask('b', 2, COMING);
  leave();
  ask('c', 2, COMING);
  flights.land(2, 'origin');
  expect(answers).toEqual(['b found in flight', 'c found in flight']);
});

test('SimulatedEntry breaks off the answers that wait when its process ends', async () => {
  const { entry, flights, answers, ask, pass } = start();
  ask('a', 2, COMING);
  ask('b', 1, STORED);
  entry.breakOff();
  flights.land(2, 'origin');
  await pass(1000);
  expect(answers).toEqual(['b found in store', 'a lost']);
});
