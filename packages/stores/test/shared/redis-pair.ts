/**
 * A master and its replica, with a relay on the link between them and another one in front of the
 * master. `failOver` stalls replication, waits until the master has acknowledged adds that the
 * replica does not have, kills the master, and makes the replica the new one. The front keeps its
 * port, as the address of a Sentinel or a service does.
 */

import { connect } from 'node:net';
import { eventually } from '@bloomery/testkit/eventually';
import { RedisServer } from '@bloomery/testkit/programs/redis-server';
import { TcpRelay } from '@bloomery/testkit/relay/tcp-relay';

export class RedisPair implements AsyncDisposable {
  #master: RedisServer;
  #replica: RedisServer | null = null;
  #link: TcpRelay | null = null;
  readonly #front: TcpRelay;

  private constructor(master: RedisServer, front: TcpRelay) {
    this.#master = master;
    this.#front = front;
  }

  static async start(): Promise<RedisPair> {
    let pair: RedisPair | null = null;
    const front = await TcpRelay.start({
      target: async () => connect({ port: pair?.master.port ?? 1, host: '127.0.0.1', allowHalfOpen: true }),
    });
    pair = new RedisPair(await RedisServer.start(), front);
    await pair.#addReplica();
    return pair;
  }

  get master(): RedisServer {
    return this.#master;
  }

  /** The port for clients, which stays the same. */
  get port(): number {
    return this.#front.port;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.#front.port}`;
  }

  /** Bytes of replication that the replica lacks. */
  async lag(): Promise<number> {
    const offset = (info: string) => Number(/master_repl_offset:(\d+)/.exec(info)?.[1]);
    const [ahead = '', behind = ''] = await this.#replication();
    return offset(ahead) - offset(behind);
  }

  get replica(): RedisServer {
    if (this.#replica === null) throw new Error('Cannot use the replica: expected one, got none');
    return this.#replica;
  }

  /** Stops replication. The replica stays connected and hears nothing. */
  stall(): void {
    this.#link?.setFaults({ toClient: { stallAfter: 0 } });
  }

  goOn(): void {
    this.#link?.setFaults();
  }

  /** Kills the master, and makes the replica the new one, which gets a replica of its own. */
  async failOver(): Promise<void> {
    const old = this.#master;
    await old.kill();
    await this.#link?.[Symbol.asyncDispose]();
    this.replica.cli('REPLICAOF', 'NO', 'ONE');
    this.#master = this.replica;
    this.#replica = null;
    this.#front.cut();
    await old[Symbol.asyncDispose]();
    await this.#addReplica();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#front[Symbol.asyncDispose]();
    await this.#link?.[Symbol.asyncDispose]();
    await this.#replica?.[Symbol.asyncDispose]();
    await this.#master[Symbol.asyncDispose]();
  }

  async #addReplica(): Promise<void> {
    // Without a wait for more replicas, the new one is served at once.
    this.#master.cli('CONFIG', 'SET', 'repl-diskless-sync-delay', '0');
    this.#link = await TcpRelay.start({ target: this.#master.port });
    this.#replica = await RedisServer.start({
      words: ['--save', '', '--appendonly', 'no', '--replicaof', `127.0.0.1 ${this.#link.port}`],
    });
    const isInStep = async () => {
      const [master = '', replica = ''] = await this.#replication();
      return /slave0:.*state=online/.test(master) && /master_link_status:up/.test(replica);
    };
    await eventually(isInStep, 100_000, 'a replica that is in step', 100);
  }

  #replication(): Promise<string[]> {
    return Promise.all([this.#master, this.replica].map((server) => server.ask('INFO', 'replication')));
  }
}
