/**
 * The process of one lane: prepares its subject, then measures one slice whenever it is told to.
 * interleave.ts decides which process measures when; all others sleep. `lane-process.ts` is the
 * program, with the lanes of every subject.
 */

import type { Lane } from './bench.ts';
import { countErrors, EPSILON } from './count-errors.ts';
import { flatStrings, type KeyFiles, readKeys } from './keys.ts';
import type { CountErrors } from './results.ts';
import {
  ACTIONS,
  type Action,
  type Answers,
  Chunk,
  type Form,
  type FormName,
  type NativeTwin,
  type Subject,
} from './subject.ts';

/** The files of the keys, and which of the keys form the sample that is timed. */
export interface KeySet {
  readonly stored: KeyFiles;
  readonly heldOut: KeyFiles;
  readonly size: number;
  /**
   * How many different keys these are, which is what a structure is made for: fewer than `size` in
   * a stream.
   */
  readonly distinct: number;
  /**
   * The sample: `chunkKeys` stored keys from each start, and the first held-out keys in chunks of
   * the same size.
   */
  readonly chunkKeys: number;
  readonly starts: readonly number[];
  /** Slow lanes with more keys than this hold only their sample, and their rate is not measured. */
  readonly fillLimit: number;
}

export type LaneRequest =
  | {
      readonly do: 'prepare';
      readonly lane: string;
      readonly keys: KeySet;
      readonly forms: readonly FormName[];
      /** A pattern on lane and form; null for all. */
      readonly only: string | null;
    }
  | { readonly do: 'rate' }
  | {
      readonly do: 'trial';
      readonly lane: string;
      readonly keys: KeyFiles;
      readonly start: number;
      readonly size: number;
    }
  | { readonly do: 'time'; readonly form: FormName; readonly action: Action; readonly budgetMs: number };

export interface Prepared {
  readonly operations: readonly { readonly form: FormName; readonly action: Action }[];
  readonly bitsPerKey: number | null;
  /** Stored keys of the sample that it answers with "no", of how many. */
  readonly lost: number;
  readonly asked: number;
  readonly filled: number;
  readonly parameters: string;
  readonly figures: Readonly<Record<string, number>>;
  readonly twin: NativeTwin | null;
}

export interface Rate {
  /** False positives among held-out keys; null where the filter was not filled. */
  readonly rate: number | null;
  readonly rateKeys: number;
  readonly counts: CountErrors | null;
}

/** One structure built; null if that failed. */
export interface Trial {
  readonly milliseconds: number;
  readonly failure: string | null;
}

export interface Slice {
  readonly nsPerKey: number;
  readonly keys: number;
  /**
   * The share of the slice that this process had the processor for; helper threads may make it more
   * than 1.
   */
  readonly busy: number;
}

const SETTLE_MS = 1;
const SLOW_CHUNK = 128;
const SLOW_RATE_KEYS = 100_000;
/**
 * Large, so that the batch pays for moving the filter into WebAssembly memory, as building it at
 * once would.
 */
const FILL_BATCH = 1 << 21;
const REHEARSAL = 100;
/** Number of keys that are asked for to see that the structure is not empty. */
const BUILT_CHECK = 100;

let lanes: readonly Lane[];
let lane: Lane;
let subject: Subject;
let source: { keys: KeySet; filled: number };
let builtCheck: Chunk;
const forms = new Map<FormName, Form>();
const chunks: Record<Action, Chunk[]> = { add: [], hit: [], miss: [], delete: [], build: [] };
const cursors = new Map<string, number>();

async function prepare(
  name: string,
  keys: KeySet,
  wanted: readonly FormName[],
  only: string | null,
): Promise<Prepared> {
  lane = findLane(name);
  const { stored, heldOut, size, distinct, starts } = keys;
  const chunkKeys = lane.slow ? Math.min(SLOW_CHUNK, keys.chunkKeys) : keys.chunkKeys;
  chunks.hit = chunks.delete = starts.map((start) => new Chunk(readKeys(stored, start, chunkKeys)));
  chunks.miss = starts.map((_, i) => new Chunk(readKeys(heldOut, i * chunkKeys, chunkKeys)));

  // Where the heap will be asked, a rehearsal loads and compiles, so that code is not taken for
  // memory of the structure. Only there: what V8 learns from a tiny filter may slow down a large
  // one.
  const rehearsal = await lane.make(REHEARSAL);
  if (rehearsal.bits === undefined) {
    rehearsal.fill(new Chunk(readKeys(stored, 0, Math.min(REHEARSAL, size))));
  }
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  subject = await lane.make(distinct);
  const filled = fill(keys);
  globalThis.gc?.();
  const heapBits = (process.memoryUsage().heapUsed - before) * 8;

  chunks.add = subject.undo === undefined ? chunks.hit : chunks.miss;
  const pattern = only === null ? null : new RegExp(only);
  for (const form of subject.forms) {
    if (wanted.includes(form.name) && (pattern === null || pattern.test(`${name} ${form.name}`)))
      forms.set(form.name, form);
  }
  if (subject.forms.some((form) => form.build !== undefined)) {
    chunks.build = [new Chunk(readKeys(stored, 0, size))];
    builtCheck = new Chunk(readKeys(stored, 0, Math.min(BUILT_CHECK, size)));
  }
  const first = quickestForm();
  let lost = 0;
  let asked = 0;
  for (const chunk of chunks.hit) {
    asked += chunk.count;
    lost += chunk.count - count(first.has(chunk));
  }
  source = { keys, filled };
  return {
    operations: operations(),
    // What grows with its keys says nothing while most of them are missing.
    bitsPerKey:
      subject.bits === undefined && filled < size ? null : (subject.bits?.() ?? heapBits) / distinct,
    lost,
    asked,
    filled,
    parameters: subject.describe(),
    figures: subject.figures?.() ?? {},
    twin: subject.twin?.() ?? null,
  };
}

function fill({ stored, size, fillLimit }: KeySet): number {
  if (lane.slow && size > fillLimit) {
    for (const chunk of chunks.hit) subject.fill(chunk);
    return chunks.hit.reduce((sum, chunk) => sum + chunk.count, 0);
  }
  for (let start = 0; start < size; start += FILL_BATCH) {
    const chunk = new Chunk(readKeys(stored, start, Math.min(FILL_BATCH, size - start)));
    subject.fill(chunk);
    if (start === 0) subject.warmScratch?.(chunk);
  }
  subject.reset?.();
  return size;
}

/**
 * Asked after the rounds, not before: a quarter of a million other keys may change what V8 makes of
 * a filter's code. (In bloomfilter one key in 2m gives `%` the result -0, after which V8 no longer
 * uses integers there: a filter of 10 k keys meets one of those here, and would be measured at half
 * its speed.)
 */
function measureRate(): Rate {
  const { keys, filled } = source;
  if (filled < keys.size) return { rate: null, rateKeys: 0, counts: null };
  const rateKeys = lane.slow ? Math.min(SLOW_RATE_KEYS, keys.heldOut.count) : keys.heldOut.count;
  const found = count(quickestForm().has(new Chunk(readKeys(keys.heldOut, 0, rateKeys))));
  return { rate: found / rateKeys, rateKeys, counts: countsOf(keys) };
}

function countsOf({ stored, size }: KeySet): CountErrors | null {
  if (subject.counts === undefined) return null;
  const { maxCount = Number.POSITIVE_INFINITY, mayCountLow } = subject;
  const stream = flatStrings(readKeys(stored, 0, size));
  const errors = countErrors(stream, (keys) => subject.counts!(keys), maxCount, EPSILON * size);
  if (errors.under > 0 && isOurs() && !mayCountLow) {
    throw new Error(`${lane.name} counts too low (a share of ${errors.under})`);
  }
  return errors;
}

/** Builds one structure from other keys than the last time. What fails is a result. */
async function trial(name: string, files: KeyFiles, start: number, size: number): Promise<Trial> {
  lane = findLane(name);
  subject ??= await lane.make(size);
  const chunk = new Chunk(readKeys(files, start, size));
  const form = subject.forms[0];
  touch(chunk, form.name);
  const begin = performance.now();
  try {
    form.build!(chunk);
    return { milliseconds: performance.now() - begin, failure: null };
  } catch (error) {
    return { milliseconds: performance.now() - begin, failure: String(error) };
  }
}

/** A wrong answer of the library ends the run; those of peers are noted. */
function isOurs(): boolean {
  return lane.name.startsWith('bloomery');
}

function findLane(name: string): Lane {
  return lanes.find((candidate) => candidate.name === name)!;
}

function quickestForm(): Form {
  return subject.forms.find(({ name }) => name === 'packed') ?? subject.forms[0];
}

function operations(): Prepared['operations'] {
  return [...forms.values()].flatMap((form) =>
    ACTIONS.filter((action) => operation(form, action) !== undefined).map((action) => ({
      form: form.name,
      action,
    })),
  );
}

/** The code that is timed for an action. */
function operation(form: Form, action: Action): ((chunk: Chunk) => unknown) | undefined {
  return action === 'hit' || action === 'miss' ? form.has : form[action];
}

/**
 * Goes through the sample until the budget is spent; the next slice goes on where this one stopped.
 * The first milliseconds do not count: this process slept, and others have used the caches.
 */
function time(formName: FormName, action: Action, budgetMs: number): Slice {
  const form = forms.get(formName)!;
  const run = operation(form, action)!;
  const name = `${formName} ${action}`;
  let cursor = cursors.get(name) ?? 0;
  let keys = 0;
  let spent = 0;
  // A slow call, and one that builds a whole structure, is too long to be thrown away, and to be
  // cold.
  let settled = lane.slow === true || action === 'build';
  const began = { at: performance.now(), cpu: process.cpuUsage() };
  do {
    if (action === 'add' && cursor % chunks.add.length === 0) subject.reset?.();
    const chunk = chunks[action][cursor++ % chunks[action].length];
    touch(chunk, formName);
    const start = performance.now();
    const answer = run(chunk);
    spent += performance.now() - start;
    keys += chunk.count;
    if (!settled && spent >= SETTLE_MS) {
      settled = true;
      spent = keys = 0;
    }
    if (isOurs()) check(action, chunk, formName, answer);
    if (action === 'add' || action === 'delete') subject.undo?.[action](chunk);
  } while (!settled || spent < budgetMs);
  cursors.set(name, cursor);
  const { user, system } = process.cpuUsage(began.cpu);
  const busy = (user + system) / 1000 / (performance.now() - began.at);
  return { nsPerKey: (spent * 1e6) / keys, keys, busy };
}

/** A filter that loses keys would be measured answering something else than what was asked. */
function check(action: Action, chunk: Chunk, form: FormName, answer: unknown): void {
  const [found, wanted] =
    action === 'hit'
      ? [count(answer as Answers), chunk.count]
      : action === 'delete'
        ? [answer as number, chunk.count]
        : action === 'build'
          ? [count((answer as Form['has'])(builtCheck)), builtCheck.count]
          : [0, 0];
  if (found !== wanted) throw new Error(`${lane.name} lost ${wanted - found} keys (${form} ${action})`);
}

/** Makes the shape that the form needs before the clock starts. */
function touch(chunk: Chunk, form: FormName): void {
  if (form === 'scalar' || form === 'batch') chunk.strings;
  else if (form === 'lines') chunk.lines;
  else if (form === 'integers') chunk.integers;
  else if (form === 'hashes' && subject.hash !== undefined) chunk.hashed(subject.hash);
}

function count(answers: Answers): number {
  if (typeof answers === 'number') return answers;
  const no = subject.no ?? 0;
  let found = 0;
  for (let i = 0; i < answers.length; i++) if (!Object.is(answers[i], no)) found++;
  return found;
}

/** Answers the requests of interleave.ts with these lanes. */
export function serveLanes(served: readonly Lane[]): void {
  lanes = served;
  process.on('message', (request: LaneRequest) => {
    const answer = async () =>
      request.do === 'prepare'
        ? prepare(request.lane, request.keys, request.forms, request.only)
        : request.do === 'rate'
          ? measureRate()
          : request.do === 'trial'
            ? trial(request.lane, request.keys, request.start, request.size)
            : time(request.form, request.action, request.budgetMs);
    answer().then(
      (value) => process.send!({ value }),
      (error: unknown) => process.send!({ error: error instanceof Error ? error.stack : String(error) }),
    );
  });
}
