/**
 * A Redis Cluster of three masters on loopback, made by `redis-cli --cluster create`. A node can be
 * killed and started again: it finds its place in the cluster by the file in its folder.
 */

import { eventually } from '../eventually.ts';
import { freePort, RedisServer } from './redis-server.ts';

const NODES = 3;
const ATTEMPTS = 10;

export class RedisCluster implements AsyncDisposable {
  readonly nodes: readonly RedisServer[];

  private constructor(nodes: readonly RedisServer[]) {
    this.nodes = nodes;
  }

  static async start(): Promise<RedisCluster> {
    const nodes: RedisServer[] = [];
    while (nodes.length < NODES) nodes.push(await startNode());
    const cluster = new RedisCluster(nodes);
    const places = nodes.map(({ port }) => `127.0.0.1:${port}`);
    nodes[0]?.cli('--cluster', 'create', ...places, '--cluster-yes');
    await cluster.whole();
    return cluster;
  }

  /** Resolves when every node says that the cluster is whole. */
  async whole(): Promise<void> {
    for (const node of this.nodes) {
      const isWhole = async () => {
        const info = await node.ask('CLUSTER', 'INFO');
        return /cluster_state:ok/.test(info) && /cluster_slots_ok:16384/.test(info);
      };
      await eventually(isWhole, 100_000, 'a cluster that is whole', 100);
    }
  }

  get url(): string {
    return this.nodes[0]?.url ?? '';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.nodes) await node[Symbol.asyncDispose]();
  }
}

async function startNode(): Promise<RedisServer> {
  for (let attempt = 0; ; attempt++) {
    // The usual port of the bus, 10000 higher, may lie beyond the last port.
    const bus = ['--cluster-port', String(await freePort())];
    const words = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000', ...bus];
    const rest = ['--cluster-require-full-coverage', 'no', '--save', '', '--appendonly', 'no'];
    try {
      return await RedisServer.start({ words: [...words, ...rest] });
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
  }
}
