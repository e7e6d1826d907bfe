/**
 * Finds the node of a Redis Cluster that holds a slot, and connects to it. The caller's client
 * names one node; the others are learnt from its answer to CLUSTER SLOTS, and each of them can
 * answer for it later. A slot that moves breaks the connection (MOVED is an error here), and the
 * next one asks again.
 */

import { SharedFilterError } from '../shared-filter-error.ts';
import { openConnection, type RedisClient, type RedisConnection, type RedisPlace } from './redis-client.ts';
import { textOf } from './replies.ts';

/** Nodes that are asked after the caller's own. */
const MOST_PLACES = 32;

export class ClusterNodes {
  readonly #client: RedisClient;
  /** Nodes that answered or were named last, newest first. */
  #places: RedisPlace[] = [];

  constructor(client: RedisClient) {
    this.#client = client;
  }

  /** Connects to the master of a slot, by `open`. */
  async open(slot: number, open: typeof openConnection): Promise<RedisConnection> {
    let lastError: unknown;
    for (const place of [undefined, ...this.#places]) {
      let connection: RedisConnection;
      try {
        connection = await openConnection(this.#client, place);
      } catch (error) {
        lastError = error;
        continue;
      }
      try {
        const master = masterOf(await connection.call(['CLUSTER', 'SLOTS']), slot, this.#places);
        return await open(this.#client, master ?? place);
      } catch (error) {
        if (isNoCluster(error)) throw noCluster(error);
        lastError = error;
      } finally {
        connection.close();
      }
    }
    throw lastError;
  }
}

/**
 * The place of the master of a slot, or undefined if it is the node that answers. `places` gets all
 * nodes of the answer.
 */
function masterOf(reply: unknown, slot: number, places: RedisPlace[]): RedisPlace | undefined {
  let found: RedisPlace | null | undefined;
  for (const range of reply as unknown[][]) {
    const [from, to, ...nodes] = range;
    for (const [i, node] of nodes.entries()) {
      const [address, port] = node as unknown[];
      const host = textOf(address);
      const place = host === '' ? undefined : { host, port: Number(textOf(port)) };
      if (place !== undefined) remember(places, place);
      if (i === 0 && slot >= Number(textOf(from)) && slot <= Number(textOf(to))) found = place ?? null;
    }
  }
  if (found === undefined)
    throw new SharedFilterError('unavailable', `Cannot find a node: expected one for slot ${slot}, got none`);
  return found ?? undefined;
}

function remember(places: RedisPlace[], place: RedisPlace): void {
  if (places.some(({ host, port }) => host === place.host && port === place.port)) return;
  places.unshift(place);
  places.length = Math.min(places.length, MOST_PLACES);
}

function isNoCluster(error: unknown): boolean {
  return error instanceof Error && /cluster support disabled/i.test(error.message);
}

function noCluster(cause: unknown): SharedFilterError {
  return new SharedFilterError(
    'unavailable',
    'Cannot use a cluster: expected a node of one, got a server without cluster support (createSharedFilter is for it)',
    { cause },
  );
}
