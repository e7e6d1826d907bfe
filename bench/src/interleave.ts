/**
 * One key set, all lanes, several rounds. In each round every operation of every lane gets one slice of a few
 * milliseconds, one after the other, so that a noisy second of the machine hits all alike; the order is
 * rotated from round to round, so that nobody always runs after the same neighbour.
 */

import type { KeySet, Prepared } from './lane.ts';
import { LANES, READING, REFERENCE } from './lanes.ts';
import { nativeRows } from './native.ts';
import { LaneProcess, type Measurable, NativeProcess } from './processes.ts';
import type { Row, Section } from './results.ts';
import { type Action, FORMS } from './subject.ts';

export interface Plan {
  readonly rounds: number;
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
  readonly times: number[];
}

/** A row that is measured by somebody: `name` is what that somebody calls it. */
export interface RunningRow {
  readonly row: Row;
  readonly runner: Measurable;
  readonly name: string;
  readonly actions: readonly Action[];
}

export async function measureSection(keys: KeySet, plan: Plan): Promise<Section> {
  const notes: string[] = [];
  const running: RunningRow[] = [];
  const prepared = new Map<string, Prepared>();
  const pattern = plan.only === null ? null : new RegExp(plan.only);
  const lanes = LANES.filter(
    ({ name, maxKeys, fullOnly }) =>
      keys.size <= maxKeys &&
      !(plan.quick && fullOnly) &&
      (pattern === null ||
        ALWAYS.includes(name) ||
        FORM_NAMES.some((form) => pattern.test(`${name} ${form}`))),
  );
  const processes: Measurable[] = [];
  try {
    await inParallel(2, lanes, async ({ name }) => {
      const runner = new LaneProcess(plan.laneProgram);
      processes.push(runner);
      try {
        const only = ALWAYS.includes(name) ? null : plan.only;
        prepared.set(name, await runner.prepare(name, keys, only));
      } catch (error) {
        notes.push(`${name} failed: ${String(error).split('\n')[0]}`);
        return;
      }
      plan.progress(`ready: ${name}`);
      running.push(...laneRows(name, prepared.get(name)!, runner));
    });
    running.sort((a, b) => laneOrder(a.row.lane) - laneOrder(b.row.lane));
    notes.push(...remarks(prepared, keys.size));
    if (plan.nativeProgram !== null) {
      const runner = new NativeProcess(plan.nativeProgram, keys);
      processes.push(runner);
      const native = await nativeRows(runner, keys, prepared);
      running.push(...native.rows);
      notes.push(...native.notes);
    }
    await rounds(running, plan);
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
  return { kind, size: keys.size, averageLength, rows: running.map(({ row }) => row), notes };
}

/** The reference of the ratios and the reading of the key are measured whatever `--only` says. */
const ALWAYS = [REFERENCE, READING];
const FORM_NAMES = Object.keys(FORMS);

async function rounds(running: readonly RunningRow[], plan: Plan): Promise<void> {
  const operations: Operation[] = running.flatMap(({ row, runner, name, actions }) =>
    actions.map((action) => ({ runner, name, action, times: row.rounds[action] })),
  );
  plan.progress(`warming up ${operations.length} operations`);
  for (const { runner, name, action } of operations) await runner.time(name, action, plan.warmUpMs);
  for (let round = 0; round < plan.rounds; round++) {
    plan.progress(`round ${round + 1} of ${plan.rounds}`);
    const offset = Math.floor((round * operations.length) / plan.rounds);
    for (let i = 0; i < operations.length; i++) {
      const { runner, name, action, times } = operations[(i + offset) % operations.length];
      times.push(await runner.time(name, action, plan.sliceMs));
    }
  }
}

function laneRows(lane: string, prepared: Prepared, runner: Measurable): RunningRow[] {
  const { bitsPerKey, parameters } = prepared;
  const names = [...new Set(prepared.operations.map(({ form }) => form))];
  return names.map((form) => ({
    row: {
      lane,
      form,
      rounds: { add: [], hit: [], miss: [] },
      bitsPerKey,
      rate: null,
      rateKeys: 0,
      parameters,
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

function laneOrder(name: string): number {
  const at = LANES.findIndex((lane) => lane.name === name);
  return at < 0 ? LANES.length : at;
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
