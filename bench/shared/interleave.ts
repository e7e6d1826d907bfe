/**
 * One key set, all lanes, several rounds. In each round every operation of every lane gets one
 * slice of a few milliseconds, one after the other, so that a noisy second of the machine hits all
 * alike; the order is rotated from round to round, so that no lane always runs after the same
 * neighbour.
 */

import { nativeRows } from '../native/native-rows.ts';
import { type Lane, READING, type Suite } from './bench.ts';
import type { KeySet, Prepared } from './lane.ts';
import { LaneProcess, type Measurable, NativeProcess } from './processes.ts';
import { emptyRounds, type Row, type Section, type Trials } from './results.ts';
import type { Action } from './subject.ts';

export interface Plan {
  readonly rounds: number;
  /**
   * In so many of them structures of many keys are built, and those that are slow to build: each
   * takes seconds.
   */
  readonly buildRounds: number;
  readonly sliceMs: number;
  readonly warmUpMs: number;
  readonly quick: boolean;
  /** Rows to measure, by a pattern on their name; null for all. */
  readonly only: string | null;
  readonly laneProgram: string;
  readonly nativeProgram: string | null;
  readonly progress: (text: string) => void;
}

interface Operation {
  readonly runner: Measurable;
  readonly name: string;
  readonly action: Action;
  readonly rounds: number;
  readonly times: number[];
}

/** A row that a process measures; `name` is the name that the process has for it. */
export interface RunningRow {
  readonly row: Row;
  readonly runner: Measurable;
  readonly name: string;
  readonly actions: readonly Action[];
}

/** Results of the suite, or null if `--only` leaves nothing of it. */
export async function measureSection(keys: KeySet, suite: Suite, plan: Plan): Promise<Section | null> {
  const notes: string[] = [];
  const running: RunningRow[] = [];
  const prepared = new Map<string, Prepared>();
  const lanes = chosenLanes(suite, keys, plan);
  if (lanes.length === 0) return null;
  const processes: Measurable[] = [];
  try {
    await inParallel(2, lanes, async ({ name }) => {
      const runner = new LaneProcess(plan.laneProgram);
      processes.push(runner);
      try {
        const only = suite.always.includes(name) ? null : plan.only;
        prepared.set(name, await runner.prepare(name, keys, suite.forms, only));
      } catch (error) {
        notes.push(`${name} failed: ${String(error).split('\n')[0]}`);
        return;
      }
      plan.progress(`ready: ${name}`);
      running.push(...laneRows(name, prepared.get(name)!, runner));
    });
    const order = suite.lanes.map(({ name }) => name);
    running.sort((a, b) => order.indexOf(a.row.lane) - order.indexOf(b.row.lane));
    notes.push(...remarks(prepared, keys.size));
    if (suite.native && plan.nativeProgram !== null) {
      const runner = new NativeProcess(plan.nativeProgram, keys);
      processes.push(runner);
      const native = await nativeRows(runner, keys, prepared);
      running.push(...native.rows);
      notes.push(...native.notes);
    }
    await rounds(running, keys, suite, plan);
    plan.progress('measuring false positive rates');
    await inParallel(2, [...new Set(running.map(({ runner }) => runner))], async (runner) => {
      if (!(runner instanceof LaneProcess)) return; // the native one has said so when it was built
      const rate = await runner.rate();
      for (const one of running) if (one.runner === runner) Object.assign(one.row, rate);
    });
  } finally {
    for (const runner of processes) runner.stop();
  }
  const { kind, averageLength } = keys.stored;
  const rows = running.map(({ row }) => row);
  const { size, distinct } = keys;
  return { suite: suite.name, kind, size, distinct, averageLength, rows, trials: [], notes };
}

/** Many structures, one a lane and turn, so that a noisy second hits all lanes alike. */
export async function runTrials(keys: KeySet, suite: Suite, plan: Plan): Promise<Trials[]> {
  const { size, sets } = suite.trials!;
  const chosen = chosenLanes(suite, keys, plan).map(({ name }) => name);
  const lanes = suite.trials!.lanes.filter((lane) => chosen.includes(lane));
  const runners = lanes.map((lane) => ({ lane, process: new LaneProcess(plan.laneProgram) }));
  const all = lanes.map((lane) => ({ lane, size, sets: 0, failed: 0, milliseconds: [] as number[] }));
  const end = Date.now() + TRIALS_MS;
  try {
    for (let set = 0; set < sets && Date.now() < end; set++) {
      if (set % 10 === 0) plan.progress(`building ${size} keys, set ${set + 1} of ${sets}`);
      for (const [i, { lane, process }] of runners.entries()) {
        const { milliseconds, failure } = await process.trial(lane, keys.stored, set * size, size);
        all[i].sets++;
        if (failure !== null) all[i].failed++;
        all[i].milliseconds.push(milliseconds);
      }
    }
  } finally {
    for (const { process } of runners) process.stop();
  }
  return all;
}

/** Building more keys than this takes so long that it is not done in every round. */
const LONG_BUILD = 1e5;
/** A peer that gives up after a thousand attempts takes most of a minute each time. */
const TRIALS_MS = 10 * 60_000;

function chosenLanes(suite: Suite, keys: KeySet, plan: Plan): Lane[] {
  const pattern = plan.only === null ? null : new RegExp(plan.only);
  const matches = ({ name }: Lane) =>
    pattern === null || suite.forms.some((form) => pattern.test(`${name} ${form}`));
  const possible = suite.lanes.filter(
    ({ maxKeys, fullOnly }) => keys.size <= maxKeys && !(plan.quick && fullOnly),
  );
  if (!possible.some(matches)) return [];
  return possible.filter((lane) => suite.always.includes(lane.name) || matches(lane));
}

async function rounds(running: readonly RunningRow[], keys: KeySet, suite: Suite, plan: Plan): Promise<void> {
  const slow = new Set(suite.lanes.filter((lane) => lane.slow).map(({ name }) => name));
  const operations: Operation[] = running.flatMap(({ row, runner, name, actions }) =>
    actions.map((action) => {
      const longBuild = action === 'build' && (keys.size > LONG_BUILD || slow.has(row.lane));
      const rounds = longBuild ? plan.buildRounds : plan.rounds;
      return { runner, name, action, rounds, times: row.rounds[action] };
    }),
  );
  plan.progress(`warming up ${operations.length} operations`);
  for (const { runner, name, action } of operations) await runner.time(name, action, plan.warmUpMs);
  for (let round = 0; round < plan.rounds; round++) {
    plan.progress(`round ${round + 1} of ${plan.rounds}`);
    const offset = Math.floor((round * operations.length) / plan.rounds);
    for (let i = 0; i < operations.length; i++) {
      const { runner, name, action, rounds, times } = operations[(i + offset) % operations.length];
      if (round < rounds) times.push(await runner.time(name, action, plan.sliceMs));
    }
  }
}

function laneRows(lane: string, prepared: Prepared, runner: Measurable): RunningRow[] {
  const { bitsPerKey, parameters, figures } = prepared;
  const names = [...new Set(prepared.operations.map(({ form }) => form))];
  return names.map((form) => ({
    row: {
      lane,
      form,
      rounds: emptyRounds(),
      bitsPerKey,
      rate: null,
      rateKeys: 0,
      counts: null,
      parameters,
      figures,
    },
    runner,
    name: form,
    actions: prepared.operations.filter((operation) => operation.form === form).map(({ action }) => action),
  }));
}

function remarks(prepared: ReadonlyMap<string, Prepared>, size: number): string[] {
  const notes: string[] = [];
  for (const [name, { lost, asked, filled }] of prepared) {
    if (name === READING) continue;
    if (lost > 0) notes.push(`${name} answers "no" for ${lost} of ${asked} keys that were added.`);
    if (filled < size) {
      notes.push(`${name} is too slow to fill: it holds ${filled} keys only, and its rate is not measured.`);
    }
  }
  return notes;
}

async function inParallel<T>(
  limit: number,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const worker = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: limit }, worker));
}
