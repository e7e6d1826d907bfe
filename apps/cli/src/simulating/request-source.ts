/**
 * The requests of a simulation: a recorded trace from files, or a generated one. Both are replayed
 * for each policy.
 */

import {
  type Deal,
  type RecordedTrace,
  readTrace,
  type Trace,
  TraceError,
  type TraceFormat,
  type TraceReport,
  zipfTrace,
} from '@bloomery/cache/simulation';
import { inputsOf } from '../keys/input.ts';
import { formatBytes, formatCount, formatShare } from '../terminal/format-values.ts';
import { startProgress } from '../terminal/progress.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

export interface SourceOptions {
  readonly nodes: number;
  readonly seed: number;
  readonly rate?: number;
  readonly format?: TraceFormat;
  readonly deal?: Deal;
  readonly zipf?: number;
  readonly objects?: number;
  readonly requests?: number;
  readonly tastes?: number;
  readonly json?: boolean;
}

export interface RequestSource {
  readonly trace: Trace;
  readonly requests: number;
  readonly objects: number;
  /** Bytes of all objects, or an expectation for a generated trace. */
  readonly objectBytes: number;
  /** Lines for people about what was read. */
  readonly facts: readonly string[];
  /** The same for `--json`. */
  readonly report: Record<string, unknown>;
  close(): void;
}

const DEFAULT_OBJECTS = 100_000;
const DEFAULT_REQUESTS = 200_000;
const MEAN_BYTES = 30_000;
/** Groups of nodes with a taste of their own, with --tastes. */
const TASTE_GROUPS = 8;

export async function openSource(paths: readonly string[], options: SourceOptions): Promise<RequestSource> {
  if (options.zipf !== undefined) {
    if (paths.length > 0)
      throw new UsageError('--zipf makes requests, so no file can be given; leave one of them out');
    return generated({ ...options, zipf: options.zipf });
  }
  for (const name of ['objects', 'requests', 'tastes'] as const) {
    if (options[name] !== undefined)
      throw new UsageError(`--${name} is about generated requests; --zipf 0.8 makes them`);
  }
  if (paths.length === 0 && process.stdin.isTTY)
    throw new UsageError('name an access log, or let requests be made: --zipf 0.8');
  return recorded(paths, options);
}

function generated(options: SourceOptions & { readonly zipf: number }): RequestSource {
  const { zipf: exponent, objects = DEFAULT_OBJECTS, requests = DEFAULT_REQUESTS } = options;
  const { nodes, seed, rate, tastes: share, deal, format } = options;
  if (deal !== undefined || format !== undefined)
    throw new UsageError(`--${deal === undefined ? 'format' : 'deal'} is about files, and --zipf reads none`);
  const tastes = share === undefined ? undefined : { groups: TASTE_GROUPS, share };
  return {
    trace: zipfTrace({
      exponent,
      objects,
      requests,
      nodes,
      ratePerNode: rate,
      meanBytes: MEAN_BYTES,
      tastes,
      seed,
    }),
    requests,
    objects,
    objectBytes: objects * MEAN_BYTES,
    facts: [
      `${formatCount(requests)} made-up requests for ${formatCount(objects)} objects by Zipf's law with exponent ${exponent}, ` +
        `${formatBytes(MEAN_BYTES)} each on average${tastes === undefined ? '' : `, ${Math.round(100 * tastes.share)} % by the tastes of ${TASTE_GROUPS} groups`}`,
    ],
    report: {
      kind: 'zipf',
      exponent,
      requests,
      objects,
      meanBytes: MEAN_BYTES,
      tastes: tastes ?? null,
      seed,
    },
    close: () => {},
  };
}

async function recorded(paths: readonly string[], options: SourceOptions): Promise<RequestSource> {
  const { nodes, seed, rate, format, deal } = options;
  const inputs = inputsOf(paths);
  const total = inputs.every(({ bytes }) => bytes !== undefined)
    ? inputs.reduce((sum, { bytes = 0 }) => sum + bytes, 0)
    : undefined;
  const progress = startProgress({ what: 'reading', total, enabled: options.json !== true });
  try {
    const files = inputs.map((input) => ({
      path: input.path === '-' ? 'standard input' : input.path,
      parts: input.parts((bytes) => progress.advance(bytes)),
    }));
    const { trace, report } = await readTrace(files, { format });
    progress.stop();
    warnOf(trace, report);
    return {
      trace: dealt(trace, { nodes, by: deal, ratePerNode: rate, seed }),
      requests: trace.requests,
      objects: trace.objects,
      objectBytes: trace.objectBytes,
      facts: factsOf(trace, report, files.map(({ path }) => path).join(', ')),
      report: {
        kind: 'files',
        paths: files.map(({ path }) => path),
        ...report,
        requests: trace.requests,
        objects: trace.objects,
        clients: trace.clients,
        objectBytes: trace.objectBytes,
        maxHitRatio: trace.maxHitRatio,
        outOfOrder: trace.outOfOrder,
        objectsWithoutLength: trace.objectsWithoutLength,
      },
      close: () => trace.close(),
    };
  } catch (error) {
    if (!(error instanceof TraceError)) throw error;
    const hint = error.code === 'limit' ? '' : '; --format says what it is';
    throw new UsageError(`${error.message}${hint}`, { cause: error });
  } finally {
    progress.stop();
  }
}

function dealt(trace: RecordedTrace, options: Parameters<RecordedTrace['deal']>[0]): Trace {
  try {
    return trace.deal(options);
  } catch (error) {
    trace.close();
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError('--deal clients needs clients, and this trace names none; leave it out', {
      cause: error,
    });
  }
}

function warnOf(
  { outOfOrder, requests }: RecordedTrace,
  { malformed, lines, firstMalformed, format }: TraceReport,
) {
  if (firstMalformed !== null) {
    const { path, line, text } = firstMalformed;
    warn(
      `${path}, line ${line}: expected the format "${format}", got ${JSON.stringify(text)}; ` +
        `${formatCount(malformed)} of ${formatCount(lines)} lines could not be read`,
    );
  }
  if (outOfOrder > requests / 100) {
    warn(
      `${formatCount(outOfOrder)} of ${formatCount(requests)} requests are more than a minute earlier than one before; ` +
        'logs of several days must be given in their order',
    );
  }
}

function factsOf(trace: RecordedTrace, { skipped }: TraceReport, names: string): string[] {
  const clients = trace.clients > 0 ? ` of ${formatCount(trace.clients)} clients` : '';
  const facts = [
    `${names}: ${formatCount(trace.requests)} requests${clients} for ${formatCount(trace.objects)} objects ` +
      `of ${formatBytes(trace.objectBytes)}; one cache without limits would answer ${formatShare(trace.maxHitRatio)}`,
  ];
  if (skipped.method + skipped.status > 0) {
    facts.push(
      `left out: ${formatCount(skipped.method)} lines with other methods than GET, ` +
        `${formatCount(skipped.status)} with other statuses than 200, 206 and 304`,
    );
  }
  return facts;
}
