/**
 * The traffic of a demonstration that is left running, so that its console has something to show:
 * eight requests per second, for a few popular objects and many rare ones, to nodes in turn.
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { DemoNode } from './demo-node.ts';

const EVERY_MS = 125;
const OBJECTS = 500;
const BYTES = 20_000;

/** Asks until the signal. A node that is killed meanwhile is asked in vain, as by real clients. */
export async function keepMoving(nodes: readonly DemoNode[], signal: AbortSignal): Promise<void> {
  for (let turn = 0; !signal.aborted; turn++) {
    // Popularity falls with the rank: log-uniform ranks are Zipf's law with exponent 1.
    const rank = Math.floor(OBJECTS ** Math.random());
    nodes[turn % nodes.length]!.ask(`/objects/moving-${rank}/${BYTES}`).catch(() => {});
    await pause(EVERY_MS, undefined, { signal }).catch(() => {});
  }
}
