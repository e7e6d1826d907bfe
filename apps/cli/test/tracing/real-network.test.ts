/**
 * Traces through real packets: namespaces, the kernel's forwarding, tcpdump into `bloomery digestd`
 * at each router, and `bloomery traceback`. It needs root and namespaces; without them it says so.
 */

import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { until } from '@bloomery/testkit/eventually';
import { whyNoNetwork } from '@bloomery/testkit/network/virtual-network';
import { describe, expect, test } from 'vitest';
import { startBloomery, temporaryFolder } from '../run-command.ts';
import { COLLECTORS, RoutedNetwork } from './routed-network.ts';

const why = whyNoNetwork();
const ROUTE = ['r1', 'r2', 'r3', 'r4', 'r5', 'r6'];

interface Node {
  id: string;
  verdict: string;
  probability: number;
  changes: string[];
}
interface Trace {
  path: string[];
  nodes: Node[];
  edges: { from: string; to: string; probability: number }[];
}

describe.skipIf(why !== null)(`real routers${why === null ? '' : ` (skipped: ${why})`}`, () => {
  test('a route is found across NAT, a tunnel and fragments, round a silent and a lying collector', async () => {
    const folder = temporaryFolder();
    await using network = await RoutedNetwork.start(folder);
    await Promise.all(COLLECTORS.map((id) => network.collect(id)));
    // The first packets of a new network may be lost while addresses are looked up.
    await network.ping(3);
    const capture = join(folder, 'victim.pcap');
    await network.capture(capture);
    // Two fragments of each request, 24 bytes for the file, 16 and 14 for each packet.
    const bytes = 24 + 5 * (2 * 30 + 2 * 20 + 1308);
    const arrived = () => existsSync(capture) && statSync(capture).size >= bytes;
    await network.ping(5);
    await until('all fragments', arrived);
    // The last request has reached the victim, and so all collectors on the way; they digest the
    // packets when their tcpdump has passed them on.
    await until('the collectors have digested them', async () => {
      const { path } = JSON.parse((await traced(capture, 10, network.topology())).stdout) as Trace;
      return path.join() === ROUTE.join();
    });

    for (const packet of [1, 2, 10]) {
      const { stdout, code } = await traced(capture, packet, network.topology());
      const { path, nodes, edges } = JSON.parse(stdout) as Trace;
      expect([code, path]).toEqual([0, ROUTE]);
      for (const [i, from] of ROUTE.slice(0, -1).entries()) {
        const edge = edges.find((one) => one.from === from && one.to === ROUTE[i + 1]);
        expect(edge?.probability, from).toBeGreaterThan(0.95);
      }
      const changes = Object.fromEntries(nodes.map((node) => [node.id, node.changes]));
      expect([changes.r5, changes.r2]).toEqual([['fragment'], ['nat']]);
      expect(
        nodes
          .filter(({ verdict }) => verdict === 'seen')
          .map(({ id }) => id)
          .sort(),
      ).toEqual(ROUTE);
    }

    // r4 falls silent, and s1 says yes to everything. The graph is the same, with two marks.
    await network.kill('r4');
    await using liar = await liesAlways(true);
    const marked = JSON.parse((await traced(capture, 1, network.topology({ s1: liar.url }))).stdout) as Trace;
    expect(marked.path).toEqual(ROUTE);
    expect(verdictOf(marked, 'r4')).toBe('silent');
    expect(verdictOf(marked, 's1')).toBe('unreliable');

    // r3 says no to everything, and its neighbours contradict it.
    await network.collect('r4');
    await using denier = await liesAlways(false);
    const contradicted = await traced(capture, 1, network.topology({ r3: denier.url }));
    const graph = JSON.parse(contradicted.stdout) as Trace;
    expect(graph.path).toContain('r3');
    expect(verdictOf(graph, 'r3')).toBe('contradicts');
  });
});

const verdictOf = ({ nodes }: Trace, id: string) => nodes.find((node) => node.id === id)?.verdict;

/** Traces a packet as JSON, without blocking: the liars are servers of this process. */
async function traced(capture: string, packet: number, topology: string) {
  const words = ['traceback', capture, '--packet', `${packet}`, '--topology', topology, '--json'];
  const child = startBloomery(words);
  let stdout = '';
  child.stdout.on('data', (text) => {
    stdout += text;
  });
  const [code] = (await once(child, 'close')) as [number];
  return { stdout, code };
}

/** A collector that answers every question with the same word. */
async function liesAlways(seen: boolean): Promise<AsyncDisposable & { url: string }> {
  const server = createServer((request, response) => {
    request.resume();
    response.end(JSON.stringify({ seen, chanceOfAny: 0.01, sightings: [], coveredFromS: 0, changes: [] }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
