/**
 * The first byte under faults: links between three nodes stall, delay, cut and refuse, while each
 * object is in the summary of a neighbour. A client may wait for the budget (250 ms for all
 * neighbours and the owner together) and for the origin, and no longer.
 *
 * The origin's time is measured at the same time by the same client, without a node.
 */

import { Agent } from 'node:http';
import { until } from '../../packages/testkit/src/eventually.ts';
import { checkedGet } from '../../packages/testkit/src/fleet/checked-get.ts';
import type { Fleet } from '../../packages/testkit/src/fleet/fleet.ts';
import type { FleetNode } from '../../packages/testkit/src/fleet/fleet-node.ts';
import { knownPath } from '../../packages/testkit/src/origins/known-body.ts';
import { ThrottledOrigin } from '../../packages/testkit/src/origins/throttled-origin.ts';
import type { RelayFaults } from '../../packages/testkit/src/relay/tcp-relay.ts';
import { met, quantile, startBenchFleet } from './bench-fleet.ts';

const BUDGET_MS = 250;
export const ORIGIN_MS = 20;
const CLIENTS = 4;
const OBJECT_BYTES = 20_000;
/** Two objects may share a position, in which case the summary counts one. */
const MOST_SHARED = 3;

/** Faults that a link has in turn; open connections have them as well. */
const FAULTS: readonly RelayFaults[] = [
  {},
  { toClient: { stallAfter: 0 } },
  { toClient: { delayMs: 100 } },
  { toClient: { delayMs: 400 } },
  { toClient: { cutAfter: 3000 } },
  { refuse: true },
  { toServer: { stallAfter: 300 } },
];

/** Links between nodes, in which a fault begins and ends. */
export interface FaultyLinks {
  /** Ends all faults, and waits until the nodes know each other. */
  heal(): Promise<void>;
  begin(round: number): Promise<void>;
  /** The node that holds the objects of a round, and the one that is asked for them. */
  pair(round: number): readonly [holder: FleetNode, asker: FleetNode];
}

/** The time of the origin, as the same clients see it without a node. */
export interface LoneOrigin {
  readonly origin: ThrottledOrigin;
  readonly port: number;
  readonly agent: Agent;
}

export async function firstByteTable(isQuick: boolean): Promise<string[]> {
  await using origin = await ThrottledOrigin.start({ headDelayMs: ORIGIN_MS });
  await using fleet = await startBenchFleet({ nodes: 3, origin: origin.url, relays: {} });
  const requests = isQuick ? 400 : 4000;
  const agent = new Agent({ keepAlive: true });
  const lone = { origin, port: Number(new URL(origin.url).port), agent };
  const calm = await measured(relayedLinks(fleet, []), lone, Math.ceil(requests / 4), 'calm');
  const faulty = await measured(relayedLinks(fleet, FAULTS), lone, requests, 'faulty');
  agent.destroy();
  return [
    ...FIRST_BYTE_HEAD,
    firstByteLine('well', calm),
    firstByteLine('stall, delay, cut or refuse', faulty),
  ];
}

/** The head of a table of `firstByteLine`. */
export const FIRST_BYTE_HEAD: readonly string[] = [
  `Three processes, ${CLIENTS} clients, an origin that takes ${ORIGIN_MS} ms, the default budget of ${BUDGET_MS} ms.`,
  '',
  '| links | answers | p50, ms | p99, ms | p99.9, ms | origin alone p99.9, ms | answers of the origin | wanted |',
  '|---|---:|---:|---:|---:|---:|---:|---|',
];

export function firstByteLine(name: string, { through, direct, asked }: FirstBytes): string {
  const most = BUDGET_MS + quantile(direct, 0.999);
  const isMet = quantile(through, 0.999) <= most;
  const times = [0.5, 0.99, 0.999].map((share) => quantile(through, share).toFixed(0));
  return `| ${name} | ${through.length} | ${times.join(' | ')} | ${quantile(direct, 0.999).toFixed(0)} | ${asked} | p99.9 at most ${most.toFixed(0)} ms: ${met(isMet)} |`;
}

/** The links of a fleet with a relay on each, with these faults in turn. */
function relayedLinks(fleet: Fleet, faults: readonly RelayFaults[]): FaultyLinks {
  return {
    async heal() {
      for (const relay of fleet.relays) relay.setFaults();
      await fleet.untilUp();
    },
    async begin(round) {
      for (const [i, relay] of fleet.relays.entries())
        if (faults.length > 0) relay.setFaults(faults[(round + i * 3) % faults.length]);
    },
    pair: (round) => [fleet.nodes[round % 3]!, fleet.nodes[(round + 1) % 3]!],
  };
}

interface FirstBytes {
  readonly through: readonly number[];
  readonly direct: readonly number[];
  readonly asked: number;
}

/** Rounds: one node stores objects and tells of them, then faults begin and another is asked. */
export async function measured(
  links: FaultyLinks,
  { origin, port, agent }: LoneOrigin,
  requests: number,
  name: string,
): Promise<FirstBytes> {
  const own = new Agent({ keepAlive: true });
  const through: number[] = [];
  const direct: number[] = [];
  let asked = 0;
  const perRound = 100;
  for (let round = 0; round * perRound < requests; round++) {
    await links.heal();
    const paths = Array.from({ length: perRound }, (_, i) =>
      knownPath(`${name}/${round}/${i}`, OBJECT_BYTES),
    );
    const [holder, asker] = links.pair(round);
    const known = async () => (await asker.peer(holder.name))?.objects ?? 0;
    const heard = (await known()) + perRound - MOST_SHARED;
    await Promise.all(paths.map((path) => checkedGet(holder.port, path, { agent: holder.agent ?? own })));
    await until(`${asker.name} to hear of ${holder.name}`, async () => (await known()) >= heard);
    await links.begin(round);
    const before = origin.requests.length;
    const waiting = paths.values();
    const client = async () => {
      for (const path of waiting) {
        const answer = await checkedGet(asker.port, path, { agent: asker.agent ?? own });
        if (answer.wrong !== null || answer.status !== 200)
          throw new Error(`Cannot measure: expected the right bytes, got ${answer.wrong ?? answer.status}`);
        through.push(answer.firstByteMs);
        if (through.length % 4 === 0)
          direct.push((await checkedGet(port, `/alone${path}`, { agent })).firstByteMs);
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    asked += origin.requests.slice(before).filter(({ path }) => !path.startsWith('/alone')).length;
  }
  await links.heal();
  own.destroy();
  return { through, direct, asked };
}
