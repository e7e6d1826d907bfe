/** The figures of `bloomery route` as text. */

import type { ChurnFigures, LocationFigures, RouteFigures } from '@bloomery/overlay/simulation';
import { formatPairs, formatTable } from '@bloomery/papers/drawing';
import { formatBytes, formatCount, formatShare } from '../terminal/format-values.ts';

export interface SimulationReport {
  readonly figures: RouteFigures | ChurnFigures;
  readonly stateBytes: number;
  /** Bytes that a node sends to one neighbour in a round. */
  readonly updateBytes: number;
}

export function simulationText({ figures, stateBytes, updateBytes }: SimulationReport): string {
  const { near, nearFound, nearShortest, stretch, any, handedOver, absent, absentSent, wrong } = figures;
  return formatPairs([
    ['state per node', formatBytes(stateBytes)],
    ['sent to a neighbour per round', formatBytes(Math.round(updateBytes))],
    ['copies within reach', formatCount(near)],
    ['  found by filters', near === 0 ? '–' : formatShare(nearFound / near)],
    ['  over a shortest way', near === 0 ? '–' : formatShare(nearShortest / near)],
    ['  hops over the shortest', nearFound === 0 ? '–' : stretch.toFixed(3)],
    ['any object: handed over', `${formatShare(handedOver / any)} of ${formatCount(any)}`],
    ['absent keys: sent out', `${formatShare(absentSent / absent)} of ${formatCount(absent)}`],
    ['wrong "not found"', formatCount(wrong)],
  ]);
}

export interface ComparedCell {
  readonly nodes: number;
  readonly rate: number;
  readonly figures: readonly LocationFigures[];
}

export function comparisonText(cells: readonly ComparedCell[]): string {
  const rows = cells.flatMap(({ nodes, rate, figures }) =>
    figures.map((each) => [
      formatCount(nodes),
      `${100 * rate} %`,
      each.name,
      formatCount(Math.round(each.updateBytes)),
      formatCount(Math.round(each.questionBytes)),
      each.messages.toFixed(1),
      each.hops.toFixed(1),
      each.latencyMs.toFixed(0),
      each.wrongTurns.toFixed(2),
      `${(100 * each.missed).toFixed(1)} %`,
      formatCount(Math.round(each.stateBytes)),
    ]),
  );
  return formatTable([HEADS, ...rows], { right: [0, 1, 3, 4, 5, 6, 7, 8, 9, 10] });
}

const HEADS = [
  'nodes',
  'change',
  'way',
  'B/round',
  'B/question',
  'messages',
  'hops',
  'ms',
  'wrong',
  'missed',
  'state B',
];
