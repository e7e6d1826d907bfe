/**
 * Faults as data: what breaks, when, and for how long. A list of them is drawn from a seed, can be
 * printed, and can be shortened while a failure stays (minimise.ts). Every fault ends by itself,
 * and before the end of the faulty phase, so that the quiet phase after it has none.
 */

import type { RandomStream } from '../engine/random-stream.ts';
import type { LinkConditions } from '../network/link-conditions.ts';
import type { World } from './world.ts';

interface TimedFault {
  readonly atMs: number;
  readonly forMs: number;
}

export type Fault = TimedFault &
  (
    | { readonly kind: 'crash'; readonly node: string; readonly losesDisk: boolean }
    | { readonly kind: 'cut'; readonly node: string; readonly other: string }
    | {
        readonly kind: 'weather';
        readonly node: string;
        readonly other: string;
        readonly conditions: Partial<LinkConditions>;
      }
    | { readonly kind: 'slow'; readonly node: string; readonly factor: number }
    | { readonly kind: 'skew'; readonly node: string; readonly offsetMs: number; readonly drift: number }
  );

export const FAULT_KINDS = ['crash', 'cut', 'weather', 'slow', 'skew'] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** Draws faults for some nodes, all of which are over at `endMs`. */
export function drawFaults(
  random: RandomStream,
  nodes: readonly string[],
  { count, endMs, kinds = FAULT_KINDS }: { count: number; endMs: number; kinds?: readonly FaultKind[] },
): Fault[] {
  const below = (end: number) => Math.floor(random() * end);
  const faults = Array.from({ length: count }, (): Fault => {
    // Every fault takes the same number of draws, so that they do not shift each other.
    const [kind, first, second] = [kinds[below(kinds.length)], below(nodes.length), below(nodes.length - 1)];
    const [start, length, x, y] = [random(), random(), random(), random()];
    const atMs = Math.floor(start * endMs);
    const time = { atMs, forMs: Math.floor(length * (endMs - atMs)) };
    const node = nodes[first];
    const other = nodes[second < first ? second : second + 1];
    if (kind === 'crash') return { kind, ...time, node, losesDisk: x < 0.5 };
    if (kind === 'slow') return { kind, ...time, node, factor: 1 + Math.floor(x * 20) };
    if (kind === 'skew')
      return { kind, ...time, node, offsetMs: Math.floor((x - 0.5) * 20_000), drift: (y - 0.5) / 50 };
    if (kind === 'cut') return { kind, ...time, node, other };
    const share = Math.floor(x * 90) / 100;
    const conditions = [
      { loss: share },
      { duplication: share },
      { reordering: share },
      { damage: share },
      { delayMs: Math.floor(x * 2000), jitterMs: Math.floor(x * 500) },
      { bytesPerSecond: 100 + Math.floor(x * 10_000) },
    ][Math.floor(y * 6)];
    return { kind, ...time, node, other, conditions };
  });
  return faults.sort((a, b) => a.atMs - b.atMs);
}

/** Enters a fault into the simulation of a world. */
export function scheduleFault(fault: Fault, world: World<unknown>): void {
  const { simulation } = world;
  simulation.after(fault.atMs, () => begin(fault, world));
  simulation.after(fault.atMs + fault.forMs, () => end(fault, world));
}

/** One line for people: `at 1200 ms for 300 ms: cut a, b`. */
export function faultText(fault: Fault): string {
  const { atMs, forMs, kind, node, ...rest } = fault;
  const other = 'other' in rest ? `, ${rest.other}` : '';
  const more = Object.entries(rest).filter(([name]) => name !== 'other');
  const details = more.length > 0 ? ` ${JSON.stringify(Object.fromEntries(more))}` : '';
  return `at ${atMs} ms for ${forMs} ms: ${kind} ${node}${other}${details}`;
}

function begin(fault: Fault, { network, simulation, host }: World<unknown>): void {
  if (fault.kind === 'crash') host(fault.node).crash(fault);
  else if (fault.kind === 'slow') simulation.clockOf(fault.node).setSlowness(fault.factor);
  else if (fault.kind === 'skew') simulation.clockOf(fault.node).setSkew(fault);
  else {
    const [from, to] = [host(fault.node).address, host(fault.other).address];
    if (fault.kind === 'cut') network.partition(from, to);
    else network.setConditions({ delayMs: 5, ...fault.conditions }, from, to);
  }
}

function end(fault: Fault, { network, simulation, host }: World<unknown>): void {
  if (fault.kind === 'crash') host(fault.node).restart();
  else if (fault.kind === 'slow') simulation.clockOf(fault.node).setSlowness(1);
  else if (fault.kind === 'skew') simulation.clockOf(fault.node).setSkew({});
  else {
    const [from, to] = [host(fault.node).address, host(fault.other).address];
    if (fault.kind === 'cut') network.heal(from, to);
    else network.resetConditions(from, to);
  }
}
