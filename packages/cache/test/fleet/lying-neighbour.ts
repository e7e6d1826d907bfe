/**
 * A neighbour that knows the secret of the fleet and does everything wrong that a neighbour can do
 * short of forging bytes with a valid check code: its summary contains every object, and it holds
 * none. It refuses, sends askers on to random nodes and to itself, says nothing, sends a head
 * without a body, sends random bytes as a body, or resets the connection. As the owner of a key it
 * names random nodes, answers with random bytes, or does not answer.
 */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FLEET_SECRET } from '@bloomery/testkit/fleet/fleet';
import type { Random } from '@bloomery/testkit/statistics';
import { fleetKeys, systemClock } from '@bloomery/transport';
import { HttpTransport } from '@bloomery/transport/http';
import { hashKey } from 'bloomery';
import { encodeAnswer } from '../../src/peers/decisions/owner-question.ts';
import { objectFields, refusalFields } from '../../src/peers/objects/object-response.ts';
import { OwnSummary } from '../../src/peers/own-summary.ts';
import { SlicedWork } from '../../src/peers/sliced-work.ts';

export const LIAR = 'liar';

const LIES = ['refuse', 'name a node', 'no head', 'no body', 'random body', 'reset'] as const;
type Lie = (typeof LIES)[number];

const YEAR_MS = 365 * 86_400_000;

export interface LyingNeighbourOptions {
  readonly random: Random;
  /** Names of the nodes that it sends askers to. */
  readonly names: readonly string[];
}

export class LyingNeighbour implements AsyncDisposable {
  /** How often it told each lie. */
  readonly told = new Map<Lie | 'owner', number>();
  readonly #options: LyingNeighbourOptions;
  readonly #transport: HttpTransport;
  readonly #summary: OwnSummary;
  readonly #work = new SlicedWork(systemClock);
  readonly #server: Server;

  private constructor(options: LyingNeighbourOptions) {
    const secret = Buffer.from(FLEET_SECRET);
    const keys = fleetKeys(secret);
    this.#options = options;
    this.#transport = new HttpTransport({ id: LIAR, secret, peers: [] });
    this.#transport.serve('owner', () => this.#answerAsOwner());
    this.#summary = new OwnSummary({
      transport: this.#transport,
      clock: systemClock,
      work: this.#work,
      keyId: keys.id,
      scheme: keys.summary.scheme,
      neighbours: options.names.length,
      bandwidth: 1e9,
      event: () => {},
    });
    this.#server = createServer((request, response) => {
      response.on('error', () => {});
      if (!this.#transport.handle(request, response)) this.#lie(request, response);
    });
  }

  static async start(options: LyingNeighbourOptions): Promise<LyingNeighbour> {
    const liar = new LyingNeighbour(options);
    liar.#server.listen(0, '127.0.0.1');
    await once(liar.#server, 'listening');
    return liar;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Puts keys into the summary, for a year. */
  claim(keys: Iterable<string>): void {
    const { summary: key } = fleetKeys(Buffer.from(FLEET_SECRET));
    for (const name of keys) this.#summary.keep(hashKey(name, { key }), Date.now() + YEAR_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#summary.close();
    this.#work.close();
    await this.#transport.close();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #count(lie: Lie | 'owner'): void {
    this.told.set(lie, (this.told.get(lie) ?? 0) + 1);
  }

  #anyNode(): string {
    const { random, names } = this.#options;
    return random.pick([...names, LIAR, 'a node that does not exist']);
  }

  #lie(request: IncomingMessage, response: ServerResponse): void {
    const { random } = this.#options;
    const lie = random.pick(LIES);
    this.#count(lie);
    const summary = { epoch: random.below(1e6), sequence: random.below(1000) };
    const length = random.below(300_000);
    const object = objectFields(
      ['Cache-Control', 'max-age=600', 'ETag', '"lie"', 'Content-Length', String(length)],
      summary,
    );
    if (lie === 'refuse') response.writeHead(504, refusalFields(summary, null)).end();
    else if (lie === 'name a node') response.writeHead(504, refusalFields(summary, this.#anyNode())).end();
    else if (lie === 'no body') response.writeHead(200, object).flushHeaders();
    else if (lie === 'random body') response.writeHead(200, object).end(random.bytes(length));
    else if (lie === 'reset') request.socket.resetAndDestroy();
  }

  #answerAsOwner(): Uint8Array | Promise<Uint8Array> {
    const { random } = this.#options;
    this.#count('owner');
    const dice = random.below(4);
    if (dice === 0) return encodeAnswer({ kind: 'fetch' });
    if (dice === 1) return random.bytes(random.below(40));
    if (dice === 2) return new Promise(() => {});
    return encodeAnswer({ kind: 'ask', node: this.#anyNode() });
  }
}
