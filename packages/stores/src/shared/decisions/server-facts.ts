/**
 * The result of one look at the server: the description of the filter, the end of its log, the
 * server itself and the members. The look is one script, so all of it belongs to the same moment
 * (redis/scripts.ts).
 */

import { BEFORE_ALL, type StreamId, shortServer } from './add-id.ts';

/** The sizes of a filter, as the first member chose them. */
export interface SharedPlan {
  readonly capacity: number;
  readonly falsePositiveRate: number;
  /** The id of the hash scheme, which holds the seed or the check value of the secret key. */
  readonly scheme: string;
}

/** The description of the filter, in the hash `meta`. */
export interface FilterMeta {
  /** Random name, chosen when the filter is created. */
  readonly lineage: string;
  readonly epoch: number;
  /** The first epoch whose keys are all in this one: a rebuild sets it, a restoration does not. */
  readonly base: number;
  readonly plan: SharedPlan;
  /** The server on which the log is known to be complete, or '' while that is in doubt. */
  readonly settled: string;
  /** The server on which completeness was first doubted, and when, by its own clock. */
  readonly pending: string;
  readonly sinceMs: number;
  readonly past: readonly string[];
  /** The entry up to which the snapshot goes, and how many entries there were up to it. */
  readonly snapshotAt: StreamId;
  readonly snapshotEntries: number;
}

export interface LogEnd {
  readonly last: StreamId;
  /** Entries that were ever added, also those that were trimmed. */
  readonly entries: number;
}

interface MemberBeat {
  readonly id: string;
  /** The server to which this member sent everything that it knew, or ''. */
  readonly confirmed: string;
  readonly beatMs: number;
}

export interface ServerFacts {
  readonly meta: FilterMeta | null;
  /** The end of the log, or null if the log is gone. */
  readonly log: LogEnd | null;
  /** Short replication id. */
  readonly server: string;
  readonly isMaster: boolean;
  /** Bytes of replication so far, and how many of them each connected replica has. */
  readonly offset: number;
  readonly replicaOffsets: readonly number[];
  readonly timeMs: number;
  /** All members while the server is not settled; of a settled one, the member that looks. */
  readonly members: readonly MemberBeat[];
}

/** The reply of the script: flat lists of text. */
export interface FactsReply {
  readonly meta: readonly string[];
  /** Last id and number of entries; empty if there is no log. */
  readonly log: readonly string[];
  readonly replication: string;
  readonly time: readonly string[];
  readonly members: readonly string[];
}

export function readFacts({ meta, log, replication, time, members }: FactsReply): ServerFacts {
  const info = new Map(replication.split('\r\n').map((line) => pair(line, ':')));
  return {
    meta: meta.length === 0 ? null : readMeta(pairs(meta)),
    log: log.length === 0 ? null : { last: log[0], entries: Number(log[1]) },
    server: shortServer(info.get('master_replid') ?? ''),
    isMaster: info.get('role') === 'master',
    offset: Number(info.get('master_repl_offset') ?? 0),
    replicaOffsets: [...info]
      .filter(([name, value]) => /^slave\d+$/.test(name) && value.includes('state=online'))
      .map(([, value]) => Number(/offset=(\d+)/.exec(value)?.[1] ?? 0)),
    timeMs: Number(time[0]) * 1000 + Math.floor(Number(time[1]) / 1000),
    members: [...pairs(members)].map(([id, value]) => {
      const [confirmed, beatMs] = pair(value, ' ');
      return { id, confirmed: confirmed === '-' ? '' : confirmed, beatMs: Number(beatMs) };
    }),
  };
}

/** The version of the keys and bytes in Redis. */
export const SHARED_VERSION = '1';

function readMeta(fields: Map<string, string>): FilterMeta {
  const text = (name: string) => fields.get(name) ?? '';
  if (text('version') !== SHARED_VERSION) {
    throw new RangeError(
      `Cannot read a shared filter: expected version ${SHARED_VERSION}, got ${JSON.stringify(text('version'))}`,
    );
  }
  return {
    lineage: text('lineage'),
    epoch: Number(text('epoch')),
    base: Number(text('base')),
    plan: {
      capacity: Number(text('capacity')),
      falsePositiveRate: Number(text('rate')),
      scheme: text('scheme'),
    },
    settled: text('settled'),
    pending: text('pending'),
    sinceMs: Number(text('since')),
    past: text('past')
      .split(',')
      .filter((server) => server !== ''),
    snapshotAt: text('snapshotAt') || BEFORE_ALL,
    snapshotEntries: Number(text('snapshotEntries')),
  };
}

function pairs(flat: readonly string[]): Map<string, string> {
  const map = new Map<string, string>();
  for (let i = 0; i + 1 < flat.length; i += 2) map.set(flat[i], flat[i + 1]);
  return map;
}

function pair(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
