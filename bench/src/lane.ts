/**
 * The process of one lane: prepares its subject, then measures one slice whenever it is told to. Who is
 * measured when is decided by interleave.ts; this process sleeps in between.
 */

import { type KeyFiles, readKeys } from './keys.ts';
import { LANES, type Lane } from './lanes.ts';
import { type Action, Chunk, type Form, type FormName, type NativeTwin, type Subject } from './subject.ts';

/** What is asked about: where the keys are and which of them form the sample that is timed. */
export interface KeySet {
  readonly stored: KeyFiles;
  readonly heldOut: KeyFiles;
  readonly size: number;
  /** The sample: `chunkKeys` stored keys from each start, and the first held-out keys in chunks of the same size. */
  readonly chunkKeys: number;
  readonly starts: readonly number[];
  /** Slow lanes with more keys than this hold only their sample, and their rate is not measured. */
  readonly fillLimit: number;
}

export type LaneRequest =
  | { readonly do: 'prepare'; readonly lane: string; readonly keys: KeySet; readonly only: string | null }
  | { readonly do: 'rate' }
  | { readonly do: 'time'; readonly form: FormName; readonly action: Action; readonly budgetMs: number };

export interface Prepared {
  readonly operations: readonly { readonly form: FormName; readonly action: Action }[];
  readonly bitsPerKey: number;
  /** Stored keys of the sample that it answers with "no", of how many. */
  readonly lost: number;
  readonly asked: number;
  readonly filled: number;
  readonly parameters: string;
  readonly twin: NativeTwin | null;
}

export interface Rate {
  /** False positives among held-out keys; null where the filter was not filled. */
  readonly rate: number | null;
  readonly rateKeys: number;
}

export interface Slice {
  readonly nsPerKey: number;
  readonly keys: number;
}

const SETTLE_MS = 1;
const SLOW_CHUNK = 128;
const SLOW_RATE_KEYS = 100_000;
/** Large, so that the batch pays for moving the filter into WebAssembly memory, as building it at once would. */
const FILL_BATCH = 1 << 21;

let lane: Lane;
let subject: Subject;
let rateSource: { heldOut: KeyFiles; keys: number };
const forms = new Map<FormName, Form>();
const chunks: Record<Action, Chunk[]> = { add: [], hit: [], miss: [] };
const cursors = new Map<string, number>();

async function prepare(name: string, keys: KeySet, only: string | null): Promise<Prepared> {
  lane = LANES.find((candidate) => candidate.name === name)!;
  const { stored, heldOut, size, starts } = keys;
  const chunkKeys = lane.slow ? Math.min(SLOW_CHUNK, keys.chunkKeys) : keys.chunkKeys;
  chunks.hit = chunks.add = starts.map((start) => new Chunk(readKeys(stored, start, chunkKeys)));
  chunks.miss = starts.map((_, i) => new Chunk(readKeys(heldOut, i * chunkKeys, chunkKeys)));

  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  subject = await lane.make(size);
  const filled = fill(keys);
  globalThis.gc?.();
  const heapBits = (process.memoryUsage().heapUsed - before) * 8;

  const pattern = only === null ? null : new RegExp(only);
  for (const form of subject.forms) {
    if (pattern === null || pattern.test(`${name} ${form.name}`)) forms.set(form.name, form);
  }
  const first = quickestForm();
  let lost = 0;
  let asked = 0;
  for (const chunk of chunks.hit) {
    asked += chunk.count;
    lost += chunk.count - count(first.has(chunk));
  }
  rateSource = { heldOut, keys: filled < size ? 0 : lane.slow ? SLOW_RATE_KEYS : heldOut.count };
  return {
    operations: operations(),
    bitsPerKey: (subject.bits?.() ?? heapBits) / size,
    lost,
    asked,
    filled,
    parameters: subject.describe(),
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
  subject.reset();
  return size;
}

/**
 * Asked after the rounds, not before: a quarter of a million other keys may change what V8 makes of a filter's
 * code. (In bloomfilter one key in 2m gives `%` the result -0, after which V8 no longer uses integers there:
 * a filter of 10 k keys meets one of those here, and would be measured at half its speed.)
 */
function measureRate(): Rate {
  const { heldOut, keys } = rateSource;
  if (keys === 0) return { rate: null, rateKeys: 0 };
  const form = quickestForm();
  return { rate: count(form.has(new Chunk(readKeys(heldOut, 0, keys)))) / keys, rateKeys: keys };
}

function quickestForm(): Form {
  return subject.forms.find(({ name }) => name === 'packed') ?? subject.forms[0];
}

function operations(): Prepared['operations'] {
  return [...forms.values()].flatMap((form) => {
    const has = [
      { form: form.name, action: 'hit' as const },
      { form: form.name, action: 'miss' as const },
    ];
    return form.add === undefined ? has : [{ form: form.name, action: 'add' as const }, ...has];
  });
}

/**
 * Goes through the sample until the budget is spent; the next slice goes on where this one stopped. The first
 * milliseconds do not count: this process slept, and others have used the caches.
 */
function time(formName: FormName, action: Action, budgetMs: number): Slice {
  const form = forms.get(formName)!;
  const name = `${formName} ${action}`;
  let cursor = cursors.get(name) ?? 0;
  let keys = 0;
  let spent = 0;
  let settled = lane.slow === true;
  do {
    if (action === 'add' && cursor % chunks.add.length === 0) subject.reset();
    const chunk = chunks[action][cursor++ % chunks[action].length];
    touch(chunk, formName);
    const start = performance.now();
    const answer = action === 'add' ? form.add!(chunk) : form.has(chunk);
    spent += performance.now() - start;
    keys += chunk.count;
    if (!settled && spent >= SETTLE_MS) {
      settled = true;
      spent = keys = 0;
    }
    // A filter that loses keys would be measured answering something else than what was asked.
    if (action === 'hit' && lane.name.startsWith('bloomery') && count(answer!) !== chunk.count) {
      throw new Error(`${lane.name} lost a key (${formName})`);
    }
  } while (!settled || spent < budgetMs);
  cursors.set(name, cursor);
  return { nsPerKey: (spent * 1e6) / keys, keys };
}

/** Makes the shape that the form needs before the clock starts. */
function touch(chunk: Chunk, form: FormName): void {
  if (form === 'scalar' || form === 'batch') chunk.strings;
  else if (form === 'lines') chunk.lines;
  else if (form === 'hashes' && subject.hash !== undefined) chunk.hashed(subject.hash);
}

function count(answers: number | Uint8Array): number {
  if (typeof answers === 'number') return answers;
  let found = 0;
  for (let i = 0; i < answers.length; i++) found += answers[i];
  return found;
}

process.on('message', (request: LaneRequest) => {
  const answer = async () =>
    request.do === 'prepare'
      ? prepare(request.lane, request.keys, request.only)
      : request.do === 'rate'
        ? measureRate()
        : time(request.form, request.action, request.budgetMs);
  answer().then(
    (value) => process.send!({ value }),
    (error: unknown) => process.send!({ error: error instanceof Error ? error.stack : String(error) }),
  );
});
