/**
 * Reads the replies of the server, whatever shape the client gives them: `ioredis` and `redis` in
 * RESP2 give XREAD as `[[log, entries]]`, in RESP3 as `[log, entries]`, a Map or an object.
 */

import type { StreamId } from '../decisions/add-id.ts';
import { type FactsReply, readFacts, type ServerFacts } from '../decisions/server-facts.ts';
import type { FilterKeys } from './filter-keys.ts';
import type { RedisConnection } from './redis-client.ts';
import { LOOK, runScript } from './scripts.ts';

export interface RawEntry {
  readonly id: StreamId;
  readonly fields: readonly Uint8Array[];
}

export function textOf(value: unknown): string {
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.length).toString();
  return value === null || value === undefined ? '' : String(value);
}

/** The entries of one stream in a reply of XREAD; none for null. */
export function entriesOf(reply: unknown): RawEntry[] {
  if (reply === null || reply === undefined) return [];
  const entries = entryList(reply);
  return entries.map((entry) => {
    const [id, fields] = entry as [unknown, Uint8Array[]];
    return { id: textOf(id), fields };
  });
}

/**
 * One look at the server. A look by a member has the members that it needs to know: itself, or all
 * of them while the server is not settled.
 */
export async function lookAtServer(
  connection: RedisConnection,
  keys: FilterKeys,
  member = '',
): Promise<ServerFacts> {
  const reply = await runScript(connection, LOOK, scriptKeys(keys), [keys.prefix, member]);
  const [meta, log, replication, time, members] = (reply as unknown[]).map(textOf) as string[];
  const facts: FactsReply = {
    meta: linesOf(meta),
    log: linesOf(log),
    replication,
    time: linesOf(time),
    members: linesOf(members),
  };
  return readFacts(facts);
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.split('\n');
}

/** The keys that every script gets. */
export function scriptKeys({ meta, members, lease }: FilterKeys): string[] {
  return [meta, members, lease];
}

function entryList(reply: unknown): unknown[] {
  if (reply instanceof Map) return [...reply.values()][0] as unknown[];
  if (!Array.isArray(reply)) return Object.values(reply as object)[0] as unknown[];
  const [first, second] = reply;
  return (Array.isArray(first) ? first[1] : second) as unknown[];
}
