/**
 * kill -9 under load: a node with memory and disk is killed at random moments while real clients
 * ask it for objects of all sizes, whole and in ranges, fresh and to be validated; then it is
 * started again on the same folder. Every byte of every answer is checked.
 *
 * Promised: never a wrong byte, not before and not after; answers are cut at the kill and at no
 * other time; the folder opens each time; and what was stored is still there.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EFFORT, withEffort } from '@bloomery/testkit/effort';
import { World } from '@bloomery/testkit/origins/chaos-world';
import { Random } from '@bloomery/testkit/statistics';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundleNode, type ChaosNode, type NodeProgram, startChaosNode } from './chaos-node.ts';

/** A hundred in the full form. */
const KILLS = EFFORT > 1 ? withEffort(5) : 8;
const CLIENTS = 12;

let program: NodeProgram;
let folder: string;

beforeAll(() => {
  program = bundleNode();
  folder = mkdtempSync(join(tmpdir(), 'bloomery-chaos-kill-'));
});
afterAll(() => {
  program.remove();
  rmSync(folder, { recursive: true, force: true });
});

test(`${KILLS} kills under load: no wrong byte, and what was stored is found again`, {
  timeout: 60_000 + 10_000 * KILLS,
}, async () => {
  const dice = new Random(0x6b696c6c);
  const random = () => dice.bits() / 2 ** 32;
  const world = new World({ objects: 240, largeBytes: 600_000, changes: 0.03, random });
  await world.listen();
  const wrong: string[] = [];
  const total = { answers: 0, cut: 0, failed: 0, survived: 0, bytes: 0, hits: 0 };
  try {
    for (let round = 0; round <= KILLS; round++) {
      const node = await startChaosNode(program, {
        upstream: [`/=http://127.0.0.1:${world.port}/`],
        memory: '4MB',
        disk: join(folder, 'disk'),
        // Small enough that much is evicted in each round.
        diskSize: '30MB',
      });
      try {
        await live(node, world, random, round === KILLS, wrong, total);
      } finally {
        await node.kill();
      }
      expect(node.said, `round ${round}`).toEqual([]);
      expect(wrong, `round ${round}`).toEqual([]);
    }
  } finally {
    await world.close();
  }
  console.log(`${KILLS} kills: ${JSON.stringify(total)}, ${world.requests} requests at the origin`);
  expect(total.hits).toBeGreaterThan(10 * KILLS);
  // First answers of a round that no origin was asked for: only the folder can have given them.
  expect(total.survived).toBeGreaterThan(KILLS);
});

async function live(
  node: ChaosNode,
  world: World,
  random: () => number,
  last: boolean,
  wrong: string[],
  total: Record<'answers' | 'cut' | 'failed' | 'survived' | 'bytes' | 'hits', number>,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const seen = new Set<number>();
  let ended = false;
  let killed = false;
  const client = async (): Promise<void> => {
    while (!ended) {
      // Some are popular.
      const id = Math.floor(world.objects * random() ** 3);
      const first = !seen.has(id);
      seen.add(id);
      const dice = random();
      const size = Math.max(1, world.size(id, world.version(id)));
      const start = Math.floor(random() * size);
      try {
        const verdict = await world.ask(node.port, id, {
          agent,
          ...(dice < 0.15 ? { range: [start, start + Math.floor(random() * 50_000)] } : {}),
          ...(dice > 0.95 ? { leaveAfter: start } : {}),
        });
        total.answers++;
        total.bytes += verdict.bytes;
        if (verdict.wrong !== null) wrong.push(verdict.wrong);
        if (verdict.hit) total.hits++;
        if (verdict.hit && first) total.survived++;
        if (verdict.cut) {
          total.cut++;
          if (!killed) wrong.push(`the answer for ${id} was cut after ${verdict.bytes} bytes`);
        }
        if (verdict.status >= 500) wrong.push(`${verdict.status} for ${id}`);
      } catch (error) {
        if (!killed) wrong.push(`no answer for ${id}: ${error}`);
        total.failed++;
      }
    }
  };
  const before = total.answers;
  const enough = before + (last ? 200 : 10 + Math.floor(150 * random()));
  const clients = Array.from({ length: CLIENTS }, client);
  // By answers, not by time: a slow machine has then lived through as much. And then a moment that
  // nothing determines.
  for (const end = Date.now() + 10_000; total.answers < enough && Date.now() < end; ) await sleep(5);
  await sleep(20 * random());
  ended = true;
  if (!last) {
    killed = true;
    await node.kill();
  }
  await Promise.all(clients);
  agent.destroy();
  if (last) expect(await node.stop()).toBe(0);
}
