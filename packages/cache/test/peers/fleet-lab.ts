/**
 * Several nodes in one process that fetch from each other: each has a real proxy on a real server,
 * a peer entry on another, and a wire in front of that (faulty-wire.ts). Which neighbours a node
 * asks is what the test says. The clock of the asking side stands still until the test moves it, so
 * that no deadline passes by itself.
 */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { type Clock, FleetKeyring, systemClock } from '@bloomery/transport';
import { RequestSigner, RequestVerifier } from '@bloomery/transport/http';
import { HotObjects } from '../../src/peers/decisions/hot-objects.ts';
import { NeighbourAsk } from '../../src/peers/neighbour-ask.ts';
import type {
  Neighbour,
  NeighbourPlan,
  NeighbourPort,
  NeighbourReport,
  OwnerAnswer,
  PlannedQuestion,
} from '../../src/peers/neighbour-port.ts';
import { NeighbourSource } from '../../src/peers/neighbour-source.ts';
import { PeerEntry } from '../../src/peers/peer-entry.ts';
import { RunningAsks } from '../../src/peers/running-asks.ts';
import type { RequestHead } from '../../src/policy/message-head.ts';
import { DEFAULT_POLICY } from '../../src/policy/policy-options.ts';
import { Flights } from '../../src/proxy/flight/flights.ts';
import type { ProxyFlights } from '../../src/proxy/flight/shared-response.ts';
import { OriginClient } from '../../src/proxy/origin/origin-client.ts';
import type { ResponseSource } from '../../src/proxy/response-source.ts';
import { AddressGuard } from '../../src/safety/address-guard.ts';
import { checkLimits } from '../../src/safety/limits.ts';
import { MemoryStore } from '../../src/store/memory/memory-store.ts';
import type { ResponseStore } from '../../src/store/response-store.ts';
import { type ProxyLab, startProxy } from '../proxy/proxy-lab.ts';
import { Wire } from './faulty-wire.ts';

const keyring = new FleetKeyring([Buffer.alloc(32, 9)]);

/** Default budget of a fetch, by the clock of the asking side. */
export const BUDGET_MS = 250;

/** The time after which a search for a neighbour ends: the budget less a reserve for the origin. */
export const SEARCH_MS = 0.96 * BUDGET_MS;

/** The longest wait for a neighbour that waits for the origin. */
export const HEAD_TIMEOUT_MS = 60_000;

export interface FleetNode {
  readonly id: string;
  readonly proxy: ProxyLab;
  readonly entry: PeerEntry;
  readonly wire: Wire;
  readonly flights: ProxyFlights;
  readonly running: RunningAsks;
  /** This node as others see it. */
  readonly neighbour: Neighbour;
  readonly reports: NeighbourReport[];
  /** The ends of questions and bodies that were reported, as `b: hit`. */
  ends(): string[];
  /** Plan of every miss; by default it goes to the origin. */
  plan: () => NeighbourPlan | Promise<NeighbourPlan>;
  /** Answer of the owner of every key; by default there is none. */
  owner: (key: string, lost: string | null) => OwnerAnswer | null;
  readonly hot: HotObjects<string>;
  readonly store: ResponseStore;
  /** Whether the entry may give a response away. */
  mayShare: boolean;
  /** Budget of a fetch. */
  budgetMs: number;
  /** Whether responses of neighbours are stored as copies. */
  copies: boolean;
  /** The neighbours as a source, without a proxy. */
  source(request: RequestHead, origin: ResponseSource): ResponseSource;
}

export interface Fleet {
  readonly clock: VirtualClock;
  readonly nodes: readonly FleetNode[];
  /** Exceptions that the entries reported. */
  readonly problems: unknown[];
  close(): Promise<void>;
}

/**
 * A body of more than `keptBytes` only passes through a node. `beats`: the clock by which nodes
 * show that they are alive, each second.
 */
export async function startFleet(
  size: number,
  keptBytes = 1 << 20,
  beats: 'real' | 'virtual' = 'real',
): Promise<Fleet> {
  const clock = new VirtualClock();
  const after = beats === 'real' ? systemClock.after : clock.after.bind(clock);
  const entryClock: Clock = {
    now: () => Date.now(),
    monotonic: () => systemClock.monotonic(),
    random: () => systemClock.random(),
    after,
  };
  const nodes: FleetNode[] = [];
  const problems: unknown[] = [];
  const servers: Server[] = [];
  const clients: OriginClient[] = [];
  for (let at = 0; at < size; at++) {
    const id = `node-${'abcdefghijklmnopqrstuvwxyz'[at]}`;
    const store = new MemoryStore({ capacityBytes: 1 << 26, maxBodyBytes: keptBytes });
    const flights: ProxyFlights = new Flights(() => Date.now());
    const running = new RunningAsks();
    const hot = new HotObjects<string>();
    const policy = { ...DEFAULT_POLICY, name: id };
    const entry = new PeerEntry({
      store,
      flights,
      policy: () => policy,
      clock: entryClock,
      verifier: new RequestVerifier(keyring, systemClock),
      mayShare: () => node.mayShare,
      summary: () => ({ epoch: at, sequence: 1 }),
      headTimeoutMs: HEAD_TIMEOUT_MS,
      running,
      hot,
      problem: (problem) => problems.push(problem),
    });
    const server = createServer((req, res) => entry.handle(req, res));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    servers.push(server);
    const wire = await Wire.start((server.address() as AddressInfo).port);
    const reports: NeighbourReport[] = [];
    const client = new OriginClient({
      limits: checkLimits(),
      addresses: new AddressGuard({ allowPrivate: false, allow: [], deny: [] }),
      problem: (problem) => problems.push(problem),
    });
    clients.push(client);
    const tools = {
      client,
      signer: new RequestSigner(keyring, id, systemClock),
      keyring,
      clock,
      isCertified: false,
      headTimeoutMs: HEAD_TIMEOUT_MS,
      running,
      report: (report: NeighbourReport) => reports.push(report),
    };
    const proxy = await startProxy({
      store,
      flights,
      policy,
      sourcesBeforeOrigin: (request, _route, _decision, origin) => [node.source(request, origin)],
    });
    const port: NeighbourPort = {
      plan: () => node.plan(),
      askOwner: async (key, lost) => node.owner(key, lost),
      find: (name) => nodes.find((each) => each.id === name && each !== node)?.neighbour ?? null,
      report: tools.report,
    };
    const node: FleetNode = {
      id,
      proxy,
      entry,
      wire,
      flights,
      running,
      hot,
      store,
      neighbour: { id, address: `http://127.0.0.1:${wire.port}`, keyId: null },
      reports,
      ends: () => reports.flatMap((each) => ('end' in each ? [`${each.neighbour.id}: ${each.end}`] : [])),
      plan: () => toOrigin,
      owner: () => null,
      mayShare: true,
      budgetMs: BUDGET_MS,
      copies: true,
      source: (request, origin) =>
        new NeighbourSource({
          tools,
          newAsk: (neighbour, head, ask, listener) => new NeighbourAsk(tools, neighbour, head, ask, listener),
          port,
          budgetMs: node.budgetMs,
          request,
          origin,
          copies: node.copies,
        }),
    };
    nodes.push(node);
  }
  return {
    clock,
    nodes,
    problems,
    async close() {
      for (const client of clients) client.close();
      for (const { proxy, wire } of nodes) await Promise.all([proxy.close(), wire.close()]);
      for (const server of servers) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    },
  };
}

const toOrigin: NeighbourPlan = { asks: [], afterwards: 'origin' };

/** A plan that asks these nodes one after the other. */
export function planOf(nodes: readonly FleetNode[], more: Partial<PlannedQuestion> = {}): NeighbourPlan {
  return {
    asks: nodes.map(({ neighbour }) => ({ neighbour, headDeadlineMs: 100, hedgeAfterMs: null, ...more })),
    afterwards: 'origin',
  };
}

/** A plan without candidates: the owner is asked. */
export const toOwner: NeighbourPlan = { asks: [], afterwards: 'owner' };
