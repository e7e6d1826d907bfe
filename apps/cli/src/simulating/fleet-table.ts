/**
 * The figures of simulated fleets as a table, with a legend that says what each column means. The
 * table is a pure function of the results, so tests compare it with results of their own.
 */

import { type FleetResult, messageBytesOf, messagesOf } from '@bloomery/cache/simulation';
import { formatPairs, formatTable } from '@bloomery/papers/drawing';
import { formatBytes, formatCount, formatShare } from '../terminal/format-values.ts';

export interface PolicyRun {
  readonly name: string;
  readonly result: FleetResult;
}

interface Column {
  readonly head: string;
  readonly meaning: string;
  /** The cell of a result; `alone` is the result without cooperation. */
  cell(result: FleetResult, alone: FleetResult): string;
}

const COLUMNS: readonly Column[] = [
  {
    head: 'own',
    meaning: 'requests that a node answered from its own cache',
    cell: ({ localHits, requests }) => formatShare(localHits / requests),
  },
  {
    head: 'neighbour',
    meaning: 'requests that another node of the fleet answered',
    cell: ({ neighbourHits, requests }) => formatShare(neighbourHits / requests),
  },
  {
    head: 'origin',
    meaning: 'requests that went to the origin: the fewer, the better',
    cell: ({ originFetches, requests }) => formatShare(originFetches / requests),
  },
  {
    head: 'saved',
    meaning: 'fetches from the origin that cooperation saved, compared with alone',
    cell: (result, alone) => saved(result, alone),
  },
  {
    head: 'from origin',
    meaning: 'bytes that the origin sent',
    cell: ({ bytesBySource }) => formatBytes(bytesBySource.origin),
  },
  {
    head: 'between',
    meaning: 'bytes between the nodes: objects, summaries, questions',
    cell: (result) => formatBytes(result.objectBytes + messageBytesOf(result)),
  },
  {
    head: 'messages',
    meaning: 'messages between nodes per request, besides objects and heartbeats',
    cell: (result) => perRequest(messagesOf(result) / result.requests),
  },
  {
    head: 'wait',
    meaning: 'average time until the end of an answer',
    cell: ({ latencyMs }) => `${latencyMs.mean.toFixed(1)} ms`,
  },
  {
    head: 'busiest',
    meaning: 'requests that the busiest node serves, as a multiple of the average; 1 is even',
    cell: ({ skew }) => skew.toFixed(2),
  },
];

/** One row for each run. The first run is the one without cooperation. */
export function fleetTable(runs: readonly PolicyRun[]): string {
  const [{ result: alone }] = runs;
  const rows = runs.map(({ name, result }) => [name, ...COLUMNS.map(({ cell }) => cell(result, alone))]);
  return formatTable([['policy', ...COLUMNS.map(({ head }) => head)], ...rows], {
    right: COLUMNS.map((_, i) => i + 1),
  });
}

export function fleetLegend(): string {
  return formatPairs(COLUMNS.map(({ head, meaning }) => [head, meaning]));
}

/** One sentence for an operator about a run, compared with the run without cooperation. */
export function fleetVerdict({ name, result }: PolicyRun, alone: FleetResult): string {
  const fetches = `${formatCount(result.originFetches)} instead of ${formatCount(alone.originFetches)} fetches`;
  const bytes = `${formatBytes(result.bytesBySource.origin)} instead of ${formatBytes(alone.bytesBySource.origin)}`;
  return `With ${name}, the origin sees ${fetches} (${saved(result, alone)} saved) and sends ${bytes}.`;
}

function saved(result: FleetResult, alone: FleetResult): string {
  return result === alone || alone.originFetches === 0
    ? '-'
    : formatShare(1 - result.originFetches / alone.originFetches);
}

function perRequest(count: number): string {
  return count === 0 ? '0' : count >= 10 ? count.toFixed(0) : count.toPrecision(2);
}
