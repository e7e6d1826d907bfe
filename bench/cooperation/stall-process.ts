/**
 * The processes of the row "no stall" (stall-row.ts), which one program plays by its first
 * argument. Both measured parts run the code of the node: `OwnSummary` at the publisher, `PeerHub`
 * at the subscriber, over the HTTP transport.
 *
 * The parent sends an order, the process answers when it is done. `measure` watches the delay of
 * the event loop for some seconds and answers with it.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { FleetKeyring, systemClock } from '@bloomery/transport';
import { HttpTransport } from '@bloomery/transport/http';
import { hashKey, type KeyHash } from 'bloomery';
import { OwnSummary } from '../../packages/cache/src/peers/own-summary.ts';
import { PeerHub } from '../../packages/cache/src/peers/peer-hub.ts';
import { SlicedWork } from '../../packages/cache/src/peers/sliced-work.ts';
import type { StallOrder, StallReply } from './stall-row.ts';

const SECRET = Buffer.from('a secret of the benchmark only');
const KEYRING = new FleetKeyring([SECRET]);
const KEYS = KEYRING.first;
const YEAR_MS = 365 * 86_400_000;
/** Changes come in lots as small as a timer allows, because those of a store come one by one. */
const LOT_MS = 1;
/** A process that was held up makes up for this time at most. */
const MOST_OWED_MS = 5;
const QUIET_MS = 5000;

/** A summary of synthetic objects, of which some are replaced each second. */
class ChurningSummary {
  readonly #summary: OwnSummary;
  readonly #transport: HttpTransport;
  readonly #id: string;
  readonly #objects: number;
  #first = 0;
  #next = 0;
  port = 0;

  constructor(id: string, objects: number, neighbours: number) {
    this.#id = id;
    this.#objects = objects;
    this.#transport = new HttpTransport({ id, secret: SECRET, peers: [] });
    this.#summary = new OwnSummary({
      transport: this.#transport,
      clock: systemClock,
      work: new SlicedWork(systemClock),
      keyId: KEYS.id,
      scheme: KEYS.summary.scheme,
      neighbours,
      bandwidth: 125e3,
      event: () => {},
    });
  }

  async listen(): Promise<void> {
    const server = createServer((request, response) => {
      if (!this.#transport.handle(request, response)) response.writeHead(504).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.port = (server.address() as AddressInfo).port;
  }

  async fill(): Promise<void> {
    while (this.#next < this.#objects) {
      for (let i = 0; i < 5000 && this.#next < this.#objects; i++) this.#add();
      await sleep(1);
    }
  }

  replace(count: number): void {
    for (let i = 0; i < count; i++) {
      this.#summary.drop(this.#hash(this.#first++));
      this.#add();
    }
  }

  get bytes(): number {
    return this.#summary.bytes;
  }

  get updates(): number {
    return this.#summary.updates;
  }

  #add(): void {
    this.#summary.keep(this.#hash(this.#next++), Date.now() + YEAR_MS);
  }

  #hash(number: number): KeyHash {
    return hashKey(`http://${this.#id}.example/object/${number}`, { key: KEYS.summary });
  }
}

let summaries: ChurningSummary[] = [];
let hub: PeerHub | null = null;
let received = 0;
let churn: NodeJS.Timeout | null = null;
let replaced = 0;

const act: {
  readonly [K in StallOrder['kind']]: (order: Extract<StallOrder, { kind: K }>) => Promise<StallReply>;
} = {
  async publish({ publishers, objects, neighbours }) {
    summaries = Array.from(
      { length: publishers },
      (_, i) => new ChurningSummary(`p${i}`, objects, neighbours),
    );
    for (const summary of summaries) await summary.listen();
    for (const summary of summaries) await summary.fill();
    // The first full states are no part of the rest.
    for (let before = -1; before !== totalUpdates(); await sleep(QUIET_MS)) before = totalUpdates();
    return { ports: summaries.map(({ port }) => port) };
  },
  /** Subscribers that read and forget: 64 sets of a million would be another machine's work. */
  async read({ ports, readers }) {
    for (let i = 0; i < readers; i++) {
      const transport = new HttpTransport({ id: `r${i}`, secret: SECRET, peers: ports.map(urlOf) });
      for (const port of ports)
        transport.subscribe(urlOf(port), 'summary', {
          message: (bytes) => {
            received += bytes.length;
          },
          open: () => {},
          closed: () => {},
        });
    }
    return {};
  },
  /** One real subscriber, as a node has it. */
  async subscribe({ ports, objects }) {
    const transport = new HttpTransport({ id: 'subscriber', secret: SECRET, peers: ports.map(urlOf) });
    hub = new PeerHub({
      transport,
      clock: systemClock,
      keyring: KEYRING,
      budgetMs: 250,
      memoryBytes: 128e6,
      event: () => {},
    });
    for (;;) {
      const reports = hub.peerReports();
      if (reports.every((report) => report.masked === null && report.objects > 0.99 * objects)) return {};
      await sleep(100);
    }
  },
  async churn({ perSecond }) {
    if (churn !== null) clearInterval(churn);
    let owed = 0;
    let before = performance.now();
    let turn = 0;
    churn = setInterval(() => {
      const now = performance.now();
      owed += (perSecond * Math.min(now - before, MOST_OWED_MS)) / 1000;
      before = now;
      // Each lot is for one publisher, so that it is as large as that of a store.
      const lot = Math.floor(owed);
      owed -= lot;
      replaced += lot;
      summaries[turn++ % summaries.length].replace(lot);
    }, LOT_MS);
    return {};
  },
  async count() {
    return { replaced };
  },
  async measure({ seconds }) {
    const delays = monitorEventLoopDelay({ resolution: 1 });
    const cpu = process.cpuUsage();
    const [bytes, updates] = [totalBytes(), totalUpdates()];
    delays.enable();
    await sleep(1000 * seconds);
    delays.disable();
    const { user, system } = process.cpuUsage(cpu);
    return {
      p50Ms: delays.percentile(50) / 1e6,
      p99Ms: delays.percentile(99) / 1e6,
      maxMs: delays.max / 1e6,
      cpuShare: (user + system) / 1e6 / seconds,
      bytes: totalBytes() - bytes,
      updates: totalUpdates() - updates,
    };
  },
};

function totalBytes(): number {
  const told = hub?.peerReports().reduce((sum, { summaryBytes }) => sum + summaryBytes, 0) ?? 0;
  return received + told + summaries.reduce((sum, summary) => sum + summary.bytes, 0);
}

function totalUpdates(): number {
  return summaries.reduce((sum, summary) => sum + summary.updates, 0);
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}

process.on('message', (order: StallOrder) => {
  // The table has an entry for each kind of order, which the type checker cannot follow here.
  const run = act[order.kind] as (order: StallOrder) => Promise<StallReply>;
  run(order).then((reply) => process.send?.(reply));
});
process.on('disconnect', () => process.exit());
