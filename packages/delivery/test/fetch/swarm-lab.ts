/**
 * Nodes of one process for the tests of whole fetches: real servers and clients on loopback, real
 * files in a scratch folder, and an origin that counts its bytes.
 */

import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { knownBody, knownPath } from '@bloomery/testkit/origins/known-body';
import { ThrottledOrigin } from '@bloomery/testkit/origins/throttled-origin';
import {
  BlockServer,
  type DeliveryReport,
  type FetchFromOptions,
  type FetchLimits,
  fetchFrom,
  SeededFile,
  type ServerLimits,
  WholeFile,
} from '../../src/index.ts';

/** Times that suit loopback. */
const QUICK_LIMITS: Partial<FetchLimits> = { stallMs: 2000, patienceMs: 20_000, settleMs: 500 };

export class SwarmLab implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'delivery-'));
  readonly body: Buffer;
  readonly digest: string;
  readonly path: string;
  origin: ThrottledOrigin | null = null;
  readonly events: { readonly name: string; readonly fields: Record<string, unknown> }[] = [];
  readonly #closing: (() => Promise<void>)[] = [];
  #count = 0;

  constructor(size: number, name = 'file') {
    this.path = knownPath(name, size);
    this.body = knownBody(this.path);
    this.digest = createHash('sha256').update(this.body).digest('hex');
  }

  async startOrigin(bytesPerSecond?: number): Promise<string> {
    this.origin = await ThrottledOrigin.start(bytesPerSecond === undefined ? {} : { bytesPerSecond });
    return `${this.origin.url}${this.path}`;
  }

  /** Bodies that the origin sent, in copies of the file. */
  get originCopies(): number {
    return this.origin!.requests.reduce((sum, { bytes }) => sum + bytes, 0) / this.body.length;
  }

  async server(limits: Partial<ServerLimits> = {}): Promise<BlockServer> {
    const server = await BlockServer.start({ limits: { gatherMs: 50, ...limits } });
    this.#closing.push(() => server[Symbol.asyncDispose]());
    return server;
  }

  /** A node that has the whole file. Returns its address. */
  async seed(body: Uint8Array = this.body, limits: Partial<ServerLimits> = {}): Promise<string> {
    const path = join(this.folder, `seed-${this.#count++}`);
    writeFileSync(path, body);
    const file = await WholeFile.open(path);
    this.#closing.push(() => file.close());
    const server = await this.server(limits);
    server.share(new SeededFile(file));
    return addressOf(server);
  }

  /** Fetches to a new place, and checks the file. */
  async fetch(
    peers: readonly string[],
    options: Partial<FetchFromOptions> = {},
  ): Promise<{ report: DeliveryReport; path: string }> {
    const path = options.path ?? join(this.folder, `copy-${this.#count++}`);
    const limits = { ...QUICK_LIMITS, ...options.limits };
    const event = (_: string, name: string, fields: Record<string, unknown>) =>
      void this.events.push({ name, fields });
    const report = await fetchFrom(peers, this.digest, { event, ...options, limits, path });
    if (!readFileSync(path).equals(this.body)) throw new Error(`Cannot accept ${path}: it is another file`);
    return { report, path };
  }

  onClose(close: () => Promise<void>): void {
    this.#closing.push(close);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.#closing.reverse()) await close();
    await this.origin?.[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export function addressOf(server: BlockServer): string {
  return `http://127.0.0.1:${server.port}`;
}
