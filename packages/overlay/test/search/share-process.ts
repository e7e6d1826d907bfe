/** Peers in processes of their own, each with a folder, and their control ports. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { eventually } from '@bloomery/testkit/eventually';
import { NatsServer } from '@bloomery/testkit/programs/nats-server';
import type { SearchResult } from '../../src/search/index.ts';
import { invitationText, newInvitation, type ShareDaemon } from '../../src/search/node/index.ts';

const PROGRAM = fileURLToPath(new URL('run-share.mjs', import.meta.url));

export class ShareProcess implements Disposable {
  readonly id: string;
  readonly folder: string;
  readonly child: ChildProcess;
  control = '';
  token = '';
  peerPort: number | null = null;

  constructor(id: string, invitation: string, files: Readonly<Record<string, string>>, heartbeatMs: number) {
    this.id = id;
    this.folder = mkdtempSync(join(tmpdir(), 'bloomery-share-'));
    for (const [name, text] of Object.entries(files)) this.save(name, text);
    const options = { id, invitation, folders: [this.folder], heartbeatMs };
    this.child = spawn(process.execPath, [PROGRAM, JSON.stringify(options)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
  }

  async listening(): Promise<void> {
    for await (const line of createInterface({ input: this.child.stdout! })) {
      Object.assign(this, JSON.parse(line));
      return;
    }
    throw new Error(`Cannot start ${this.id}: expected a line with its ports, got the end of the process`);
  }

  save(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  remove(name: string): void {
    rmSync(join(this.folder, name));
  }

  takePeers(peers: readonly string[]): void {
    this.child.stdin!.write(`${JSON.stringify(peers)}\n`);
  }

  async find(query: string, most = 10): Promise<SearchResult> {
    return (await this.#get(`/find?q=${encodeURIComponent(query)}&most=${most}`)) as SearchResult;
  }

  async status(): Promise<ReturnType<ShareDaemon['status']>> {
    return (await this.#get('/status')) as ReturnType<ShareDaemon['status']>;
  }

  /** Peers that are online, with a current summary. */
  async known(): Promise<number> {
    const [{ peers }] = (await this.status()).groups;
    return peers.filter(({ isOnline, isCurrent }) => isOnline && isCurrent).length;
  }

  [Symbol.dispose](): void {
    this.child.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #get(path: string): Promise<unknown> {
    const response = await fetch(this.control + path, { headers: { Authorization: `Bearer ${this.token}` } });
    return await response.json();
  }
}

/** Peers of one group that all know each other. */
export class ShareFleet implements AsyncDisposable {
  readonly peers: readonly ShareProcess[];
  readonly #server: NatsServer | null;

  private constructor(peers: readonly ShareProcess[], server: NatsServer | null) {
    this.peers = peers;
    this.#server = server;
  }

  /** Starts a peer for each set of files. */
  static async start(
    over: 'nats' | 'http',
    files: readonly Readonly<Record<string, string>>[],
  ): Promise<ShareFleet> {
    const server = over === 'nats' ? await NatsServer.start() : null;
    const invitation = invitationText(newInvitation({ group: 'team', nats: server?.url ?? null, peers: [] }));
    const peers = files.map((each, i) => new ShareProcess(`p${i}`, invitation, each, HEARTBEAT_MS));
    const fleet = new ShareFleet(peers, server);
    try {
      await Promise.all(peers.map((peer) => peer.listening()));
      if (server === null)
        for (const peer of peers)
          peer.takePeers(
            peers.filter((other) => other !== peer).map(({ peerPort }) => `http://127.0.0.1:${peerPort}`),
          );
      for (const peer of peers)
        await eventually(
          async () => (await peer.known()) === peers.length - 1,
          WITHIN_MS,
          'a peer knows all others',
          50,
        );
    } catch (error) {
      await fleet[Symbol.asyncDispose]();
      throw error;
    }
    return fleet;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const peer of this.peers) peer[Symbol.dispose]();
    await this.#server?.[Symbol.asyncDispose]();
  }
}

const HEARTBEAT_MS = 1000;
const WITHIN_MS = 100_000;
