/**
 * The first byte while the network between the nodes has faults: loss of 1, 10 and 30 %, 1 Mbit/s,
 * delays, stalls, cuts, kill -9 of the node that holds the objects and of the NATS server, and a
 * partition between the two nodes. Real processes in namespaces, over HTTP and over NATS. Clients
 * and origin are in a network without faults, so a client may wait for the budget and for the
 * origin, and no longer.
 *
 * Each fault lasts while 100 objects are asked for, which the last node holds and the first one has
 * in its summary. It needs root, `ip`, `tc`, `nft` and `nats-server`.
 */

import { type FleetFault, faultsOf } from '../../packages/testkit/src/faults/fleet-fault.ts';
import { NetworkFleet } from '../../packages/testkit/src/faults/network-fleet.ts';
import { whyNoNetwork } from '../../packages/testkit/src/network/virtual-network.ts';
import { ThrottledOrigin } from '../../packages/testkit/src/origins/throttled-origin.ts';
import { COMMAND } from './bench-fleet.ts';
import { type FaultyLinks, FIRST_BYTE_HEAD, firstByteLine, measured, ORIGIN_MS } from './first-byte-row.ts';

/** After a fault the nodes have this time to be current. */
const CURRENT_MS = 100_000;

export async function networkFaultsTable(isQuick: boolean): Promise<string[]> {
  const why = whyNoNetwork();
  if (why !== null) return [`Not measured: ${why}.`];
  return [
    ...FIRST_BYTE_HEAD,
    ...(await linesOf('http', 'HTTP', isQuick ? 900 : 4500)),
    ...(await linesOf('nats', 'NATS', isQuick ? 1000 : 5000)),
  ];
}

async function linesOf(transport: 'http' | 'nats', name: string, requests: number): Promise<string[]> {
  let started: ThrottledOrigin | null = null;
  await using fleet = await NetworkFleet.start({
    nodes: 3,
    transport,
    program: (file) => [COMMAND, 'cache', '--config', file],
    settings: () => ({}),
    async serveOrigin(listener) {
      started = await ThrottledOrigin.start({ headDelayMs: ORIGIN_MS, listener });
    },
  });
  await using origin = started!;
  const lone = { origin, port: 80, agent: fleet.originAgent };
  const calm = await measured(linksOf(fleet, []), lone, Math.ceil(requests / 4), `${transport}/calm`);
  const faulty = await measured(linksOf(fleet, faultsOf(fleet)), lone, requests, `${transport}/faulty`);
  return [firstByteLine(`${name}, well`, calm), firstByteLine(`${name}, all faults in turn`, faulty)];
}

function linksOf(fleet: NetworkFleet, faults: readonly FleetFault[]): FaultyLinks {
  let running: FleetFault | null = null;
  return {
    async heal() {
      await running?.heal(fleet);
      running = null;
      await fleet.untilCurrent(CURRENT_MS);
    },
    async begin(round) {
      running = faults[round % faults.length] ?? null;
      await running?.begin(fleet);
    },
    pair: () => [fleet.nodes.at(-1)!, fleet.nodes[0]!],
  };
}
