/**
 * The sections of the page about messages: how many times fewer than ICP, at which pace, and how
 * each cost grows with the number of nodes. Rows that have not run are left out.
 */

import { powerFit } from '../simulation/row-statistics.ts';
import { bytesBetween, type Figure, messageBytes, messages, originShare } from './fleet-figures.ts';
import type { SimulatedRows } from './simulated-rows.ts';

/** Rows of the table, as the section `messages` names them at 16 nodes, and `fleet` at 64. */
const POLICIES = ['single copies', 'copies 10 %', 'all kept'] as const;
const RATES = [1, 10, 100, 1000] as const;
const FLEETS = [16, 64] as const;

/** ICP's messages over those of each row, by the number of nodes and the pace. */
export function messageTable(rows: SimulatedRows): string[] {
  const line = (label: string, cellsAt: (nodes: 16 | 64) => readonly (number | null)[]): string[] => {
    const cells = FLEETS.flatMap((nodes) => {
      const [ours, icp] = cellsAt(nodes);
      return ours == null || icp == null ? ['–', '–'] : [ours.toFixed(3), (icp / ours).toFixed(1)];
    });
    return cells.every((cell) => cell === '–') ? [] : [`| ${label} | ${cells.join(' | ')} |`];
  };
  const at16 = (name: string) => rows.mean('messages', `16 nodes: ${name}`, messages);
  const lines = [
    ...POLICIES.flatMap((name) =>
      line(`${name}, updates at 1 % new objects, no owner`, (nodes) =>
        nodes === 16
          ? [at16(name), at16('ICP')]
          : [rows.mean('fleet', name, messages), rows.mean('fleet', 'ICP', messages)],
      ),
    ),
    ...RATES.flatMap((rate) =>
      line(`default settings, ${rateText(rate)} a second per node`, (nodes) => [
        rows.mean('messages', `${nodes} nodes: default settings, ${rate}/s`, messages),
        nodes === 16 ? at16('ICP') : rows.mean('growth', 'ICP, 64', messages),
      ]),
    ),
  ];
  if (lines.length === 0) return [];
  return [
    '## Messages beside ICP',
    '',
    'A message is anything between two nodes except the transfer of an object. The default settings tell new objects within half',
    'a second however few they are, and ask the owner of an object before the origin. So a quiet fleet sends more messages',
    'for each request than a busy one. Nodes hold 10,000 objects each; those of the 64 with default settings hold 1,000.',
    '',
    '| | 16 nodes: messages per request | times fewer than ICP | 64 nodes: messages per request | times fewer than ICP |',
    '|---|---:|---:|---:|---:|',
    ...lines,
    '',
  ];
}

function rateText(rate: number): string {
  return rate === 1 ? '1 request' : `${rate.toLocaleString('en')} requests`;
}

const kilobytesBetween: Figure = (result) => bytesBetween(result)! / 1000;

/** The power of the number of nodes that fits each cost. */
export function growthTable(rows: SimulatedRows): string[] {
  const families = new Map<string, string[]>();
  for (const name of rows.names('growth')) {
    const family = name.replace(/, \d+$/, '');
    families.set(family, [...(families.get(family) ?? []), name]);
  }
  const lines = [...families].flatMap(([family, names]) => {
    const cells = [messages, messageBytes, kilobytesBetween, originShare].map((figure) => {
      const points = names.flatMap((name) => {
        const y = rows.mean('growth', name, figure);
        return y === null || y <= 0 ? [] : [{ x: Number(/\d+$/.exec(name)![0]), y }];
      });
      return points.length < 3 ? '–' : powerFit(points);
    });
    return cells.every((cell) => cell === '–') ? [] : [`| ${family} | ${cells.join(' | ')} |`];
  });
  if (lines.length === 0) return [];
  return [
    '## How the costs grow',
    '',
    'N nodes of 1,000 objects each, from 4 to 256, and as many more different objects. A power of N is fitted to the cost of a',
    'request; the parentheses say how far the farthest point is off the fit.',
    '',
    '| | messages | bytes of messages | kB between nodes, with objects | share at the origin |',
    '|---|---:|---:|---:|---:|',
    ...lines,
    '',
  ];
}
