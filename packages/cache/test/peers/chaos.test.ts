/**
 * Three nodes that ask each other at random, over wires that damage, hold and cut answers, while
 * the origin changes its objects. Each answer that a client gets whole is one version of the
 * object, byte by byte.
 */

import { withEffort } from '@bloomery/testkit/effort';
import { type LabAnswer, type OriginLab, startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { Random } from '@bloomery/testkit/statistics';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Reply } from '../proxy/proxy-lab.ts';
import { type Fleet, type FleetNode, planOf, startFleet } from './fleet-lab.ts';

const OBJECTS = 12;
const SIZES = [0, 10, 60_000, 70_000, 200_000, 400_000];

let origin: OriginLab;
let fleet: Fleet;
let random: Random;
let versions: number[];

function bodyOf(id: number, version: number): Buffer {
  const body = Buffer.alloc(SIZES[id % SIZES.length]! + version);
  for (let at = 0; at < body.length; at++)
    body[at] = Math.imul(at + id * 7 + version * 13, 2654435761) >>> 24;
  return body;
}

/** A third of the objects has a strong tag, a third a weak one; every fourth has no length. */
function headersOf(id: number, version: number): string[] {
  const tag = [['ETag', `"${version}"`], ['ETag', `W/"${version}"`], []][id % 3]!;
  const chunked = id % 4 === 0 ? ['Transfer-Encoding', 'chunked'] : [];
  return ['Cache-Control', 'max-age=60', 'X-Version', String(version), ...tag, ...chunked];
}

beforeEach(async () => {
  random = new Random(2026);
  versions = Array.from({ length: OBJECTS }, () => 0);
  origin = await startOrigin();
  fleet = await startFleet(3);
  for (let id = 0; id < OBJECTS; id++) {
    origin.on(`/${id}`, (request): LabAnswer => {
      const version = versions[id]!;
      const headers = headersOf(id, version);
      const body = bodyOf(id, version);
      const start = Number(/^bytes=(\d+)-$/.exec(request.header('range') ?? '')?.[1] ?? -1);
      if (start < 0 || start >= body.length || request.header('if-range') !== `"${version}"`)
        return { headers, body };
      const part = ['Content-Range', `bytes ${start}-${body.length - 1}/${body.length}`];
      return { status: 206, headers: [...headers, ...part], body: body.subarray(start) };
    });
  }
});

afterEach(async () => {
  await fleet.close();
  await origin.close();
});

function setFaults(): void {
  for (const node of fleet.nodes) {
    const at = random.below(450_000);
    node.wire.fault = random.pick([
      {},
      {},
      { flipAt: at },
      { flipAt: at % 600 },
      { cutAfter: at },
      { holdAfter: at },
    ]);
    if (random.below(4) === 0) node.wire.dropConnections();
    const others = fleet.nodes.filter((each) => each !== node);
    const named = random.pick<FleetNode>(others);
    node.plan = () => ({
      asks: planOf(random.below(2) === 0 ? others : [named], { hedgeAfterMs: random.pick([null, 20]) }).asks,
      afterwards: random.pick(['owner', 'origin']),
    });
    node.owner = () => random.pick([null, 'fetch', named.neighbour]);
  }
}

test('no client gets a wrong byte in an answer that looks whole', async () => {
  const rounds = withEffort(40, 20);
  let whole = 0;
  let cut = 0;
  for (let round = 0; round < rounds; round++) {
    setFaults();
    for (const node of fleet.nodes) {
      await node.proxy.store.removeKey(origin.url(`/${random.below(OBJECTS)}`));
    }
    if (round % 3 === 0) versions[random.below(OBJECTS)]!++;
    let running = 0;
    const asked = Array.from({ length: 12 }, () => {
      const node = random.pick<FleetNode>(fleet.nodes);
      const id = random.below(OBJECTS);
      running++;
      return node.proxy
        .get(origin.url(`/${id}`))
        .then(
          (reply) => check(id, reply) && whole++,
          () => cut++,
        )
        .finally(() => running--);
    });
    while (running > 0) await fleet.clock.advance(20);
    await Promise.all(asked);
  }
  expect(fleet.problems).toEqual([]);
  expect(whole + cut).toBe(rounds * 12);
  expect(whole).toBeGreaterThan(cut);
  const ends = new Set(fleet.nodes.flatMap((node) => node.ends()).map((end) => end.replace(/.*: /, '')));
  // Every way of failing occurred.
  for (const end of ['hit', 'refused', 'failed', 'whole', 'broken', 'damaged', 'stalled'])
    expect([...ends]).toContain(end);
});

function check(id: number, { status, body, header }: Reply): boolean {
  if (status !== 200) return false;
  const version = Number(header('x-version'));
  expect([id, version, body.equals(bodyOf(id, version))]).toEqual([id, version, true]);
  return true;
}
