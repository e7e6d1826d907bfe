/**
 * The id of an add: which log it stands in, on which server, and where.
 *
 * Redis numbers the entries of a stream by time and a counter, `1700000000000-0`. That number alone
 * cannot name an add: after a failover the new server may give the same number to another entry,
 * and a filter that was rebuilt has another log. An id therefore carries the lineage and the epoch
 * of the log and the replication id of the server that acknowledged the add:
 *
 *     3f9c2a10.2.8d1ff05c22aa.1700000000000-0
 *     lineage  epoch server    place in the stream
 */

/** A place in a Redis stream, such as `1700000000000-0`. */
export type StreamId = string;

/** The place before all entries. */
export const BEFORE_ALL: StreamId = '0-0';

export interface AddId {
  readonly lineage: string;
  readonly epoch: number;
  /** Short form of the replication id of the server. */
  readonly server: string;
  readonly place: StreamId;
}

/** Compares two places: negative if `a` comes first. */
export function compareIds(a: StreamId, b: StreamId): number {
  const [aMs, aSequence] = partsOf(a);
  const [bMs, bSequence] = partsOf(b);
  return aMs === bMs ? aSequence - bSequence : aMs - bMs;
}

/** The time of an entry in milliseconds, by the clock of the server that took it. */
export function timeOf(id: StreamId): number {
  return partsOf(id)[0];
}

/** The first twelve digits of a replication id: 48 random bits, enough to tell servers apart. */
export function shortServer(replicationId: string): string {
  return replicationId.slice(0, 12);
}

export function formatAddId({ lineage, epoch, server, place }: AddId): string {
  return `${lineage}.${epoch}.${server}.${place}`;
}

export function parseAddId(id: string): AddId {
  const match = ADD_ID.exec(id);
  if (match === null) {
    throw new TypeError(
      `Cannot read an id: expected one that add() returned, got ${JSON.stringify(id)?.slice(0, 80)}`,
    );
  }
  const [, lineage, epoch, server, place] = match;
  return { lineage, epoch: Number(epoch), server, place };
}

/** The knowledge of a process about the log, when it is asked about an id. */
export interface LogView {
  readonly lineage: string;
  readonly epoch: number;
  readonly server: string;
  /** Servers whose adds are all in this log, because every member sent again what was missing. */
  readonly past: readonly string[];
  /** The last entry up to which no entry is missing. */
  readonly verified: StreamId;
  /** Whether the log was complete when this process last looked. */
  readonly isLive: boolean;
}

/**
 * Whether the filter certainly contains the add with this id. False means that it may be missing,
 * so the answer to any question about it has to be "maybe".
 */
export function covers(view: LogView, id: AddId): boolean {
  if (!view.isLive || id.lineage !== view.lineage || id.epoch > view.epoch) return false;
  // An epoch begins with everything that was acknowledged in the one before.
  if (id.epoch < view.epoch) return true;
  if (id.server === view.server) return compareIds(view.verified, id.place) >= 0;
  return view.past.includes(id.server);
}

const ADD_ID = /^([0-9a-f]{8})\.(\d{1,15})\.([0-9a-f]{12})\.(\d{1,20}-\d{1,20})$/;

function partsOf(id: StreamId): [ms: number, sequence: number] {
  const dash = id.indexOf('-');
  return [Number(id.slice(0, dash)), Number(id.slice(dash + 1))];
}
