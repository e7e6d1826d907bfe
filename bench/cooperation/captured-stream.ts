/**
 * Bytes of updates on a captured TCP stream: a real publisher and a real subscriber over the HTTP
 * transport, with a relay between them that counts everything that passes in both directions. So
 * the bytes contain the sync head, the frame and its mac, and the chunks of HTTP, but no TCP and IP
 * headers. After each update the subscriber must hold exactly what the publisher holds.
 *
 * A heartbeat may fall into an update, so the median of the updates counts.
 */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HttpTransport } from '@bloomery/transport/http';
import { CountingBloomFilter, hashKey } from 'bloomery';
import { Publisher, SetPublisher, SetSubscriber, Subscriber } from 'bloomery/wire';
import { until } from '../../packages/testkit/src/eventually.ts';
import { TcpRelay } from '../../packages/testkit/src/relay/tcp-relay.ts';
import { median } from '../shared/statistics.ts';
import { RATE } from './update-rivals.ts';
import { replace } from './url-population.ts';

const TOPIC = 'summary';
const SECRET = Buffer.from('a secret of the benchmark only');
const BLOOM_BITS = 12;
const BLOOM_HASHES = 3;

/** The two ends of a session, whatever the structure. */
interface Session {
  /** Replaces objects at the publisher, and returns the message. */
  change(removed: readonly string[], added: readonly string[]): Uint8Array;
  answer(request: Uint8Array): Uint8Array;
  receive(message: Uint8Array): unknown;
  request(): Uint8Array;
  /** True if the subscriber holds what the publisher holds. */
  isSame(): boolean;
  /** Bytes that the theory of the structure gives for the last change, or null. */
  theory(): number | null;
}

interface CapturedRow {
  readonly name: string;
  readonly objects: number;
  readonly share: number;
  readonly bytes: number;
  readonly theory: number | null;
  readonly target: { readonly text: string; readonly isMet: boolean };
}

export async function capturedTable(isQuick: boolean): Promise<string[]> {
  const rows: CapturedRow[] = [];
  const updates = isQuick ? 3 : 9;
  for (const [share, most] of [
    [0.01, 3000],
    [0.05, 11_600],
  ] as const) {
    const { bytes, theory } = await capture(setSession(100_000), 100_000, share, updates);
    const target = { text: `at most ${most.toLocaleString('en')}`, isMet: bytes <= most };
    rows.push({ name: 'set of positions', objects: 100_000, share, bytes, theory, target });
  }
  for (const [objects, over] of isQuick
    ? ([[100_000, 0.015]] as const)
    : ([
        [100_000, 0.015],
        [1_000_000, 0.005],
      ] as const)) {
    for (const share of [0.01, 0.05]) {
      const { bytes, theory } = await capture(
        bloomSession(objects),
        objects,
        share,
        objects > 1e5 ? 3 : updates,
      );
      const target = {
        text: `${100 * over} % above theory`,
        isMet: theory !== null && bytes <= theory * (1 + over),
      };
      rows.push({ name: 'Bloom filter 12 bits, 3 hashes', objects, share, bytes, theory, target });
    }
  }
  return [
    '| summary | objects | replaced | bytes on the stream | theory | above it | wanted | |',
    '|---|---:|---:|---:|---:|---:|---|---|',
    ...rows.map(({ name, objects, share, bytes, theory, target }) => {
      const above = theory === null ? '' : `${(100 * (bytes / theory - 1)).toFixed(2)} %`;
      const cells = [
        name,
        objects.toLocaleString('en'),
        `${100 * share} %`,
        bytes.toLocaleString('en'),
        theory === null ? '' : Math.round(theory).toLocaleString('en'),
        above,
        target.text,
        target.isMet ? 'met' : 'NOT MET',
      ];
      return `| ${cells.join(' | ')} |`;
    }),
  ];
}

/** The median over updates of the bytes on the stream, and of the theory. */
async function capture(
  start: (urls: readonly string[]) => Session,
  objects: number,
  share: number,
  updates: number,
): Promise<{ bytes: number; theory: number | null }> {
  const session = start(replace(objects, share).before);
  const server = createServer((request, response) => {
    if (!sender.handle(request, response)) response.writeHead(404).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const relay = await TcpRelay.start({ target: (server.address() as AddressInfo).port });
  const address = `http://127.0.0.1:${relay.port}`;
  const sender = new HttpTransport({ id: 'publisher', secret: SECRET, peers: [] });
  const receiver = new HttpTransport({ id: 'subscriber', secret: SECRET, peers: [address] });
  sender.serve(TOPIC, (request) => session.answer(request));
  try {
    let received = 0;
    const opened = new Promise<void>((resolve) => {
      receiver.subscribe(address, TOPIC, {
        open: resolve,
        closed: () => {},
        message: (bytes) => {
          session.receive(bytes);
          received++;
        },
      });
    });
    await opened;
    session.receive(await receiver.request(address, TOPIC, session.request(), { timeoutMs: 60_000 }));
    if (!session.isSame()) throw new Error('Cannot measure: expected the full state at the subscriber');
    const counts: number[] = [];
    const theories: number[] = [];
    for (let round = 0; round < updates; round++) {
      const { removed, added } = replace(objects, share, round);
      const message = session.change(removed, added);
      const before = passed(relay);
      sender.publish(TOPIC, message);
      await until('the update', () => received > round, 60_000);
      if (!session.isSame()) throw new Error('Cannot measure: expected the same set at both ends');
      counts.push(passed(relay) - before);
      theories.push(session.theory() ?? Number.NaN);
    }
    const theory = median(theories);
    return { bytes: median(counts), theory: Number.isNaN(theory) ? null : theory };
  } finally {
    await receiver.close();
    await sender.close();
    await relay[Symbol.asyncDispose]();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

function passed(relay: TcpRelay): number {
  return relay.connections.reduce((sum, { sent }) => sum + sent.toServer + sent.toClient, 0);
}

function setSession(objects: number): (urls: readonly string[]) => Session {
  return (urls) => {
    const universe = Math.round(objects / RATE);
    const publisher = new SetPublisher({ incarnation: 1, universe });
    for (const url of urls) publisher.addHash(hashKey(url));
    publisher.publish();
    const subscriber = new SetSubscriber({ maxPositions: 2 * objects });
    let changes = 0;
    return {
      change(removed, added) {
        for (const url of removed) publisher.deleteHash(hashKey(url));
        for (const url of added) publisher.addHash(hashKey(url));
        changes = publisher.changedCount() / 2;
        return publisher.publish()!;
      },
      answer: (request) => publisher.answer(request)!,
      receive: (message) => subscriber.receive(message),
      request: () => subscriber.request(),
      isSame: () => subscriber.current && subscriber.size === publisher.size,
      // Which of the held positions go, and which of the free ones come.
      theory: () =>
        (publisher.size * entropy(changes / publisher.size) +
          (universe - publisher.size) * entropy(changes / (universe - publisher.size))) /
        8,
    };
  };
}

function bloomSession(objects: number): (urls: readonly string[]) => Session {
  return (urls) => {
    const bits = objects * BLOOM_BITS;
    const filter = new CountingBloomFilter({ counters: bits, hashes: BLOOM_HASHES, trackChanges: true });
    filter.addMany([...urls]);
    const publisher = new Publisher({ incarnation: 1, filter, effort: 'small' });
    publisher.publish();
    const subscriber = new Subscriber();
    let changed = 0;
    return {
      change(removed, added) {
        for (const url of removed) filter.delete(url);
        filter.addMany([...added]);
        changed = publisher.changedCount();
        return publisher.publish()!;
      },
      answer: (request) => publisher.answer(request)!,
      receive: (message) => subscriber.receive(message),
      request: () => subscriber.request(),
      isSame: () => subscriber.status === 'current',
      theory: () => (bits * entropy(changed / bits)) / 8,
    };
  };
}

/** Entropy of a bit that is one with this probability, in bits. */
function entropy(p: number): number {
  return -p * Math.log2(p) - (1 - p) * Math.log2(1 - p);
}
