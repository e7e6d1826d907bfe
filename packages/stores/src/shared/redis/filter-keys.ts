/**
 * The names of a filter's keys in Redis. The braces are a hash tag: in a cluster all keys of one
 * filter lie on one node. Lineage and epoch are part of the names of the log and the snapshot, so
 * that a writer that has not heard of a new epoch finds no log, instead of writing into a log that
 * no member reads.
 */

export interface FilterKeys {
  readonly meta: string;
  readonly members: string;
  readonly lease: string;
  /** Prefix of the names of log and snapshot. */
  readonly prefix: string;
}

export function filterKeys(name: string): FilterKeys {
  if (typeof name !== 'string' || !/^[^{}\s]{1,200}$/.test(name)) {
    throw new RangeError(
      `Cannot name a shared filter: expected 1 to 200 characters without braces and blanks, got ${JSON.stringify(name)}`,
    );
  }
  const prefix = `bloomery:{${name}}`;
  return { meta: `${prefix}:meta`, members: `${prefix}:members`, lease: `${prefix}:lease`, prefix };
}

export function logKey({ prefix }: FilterKeys, lineage: string, epoch: number): string {
  return `${prefix}:log:${lineage}:${epoch}`;
}

/** A Redis hash: field `0` has the frame of the first stage, and so on. */
export function snapshotKey({ prefix }: FilterKeys, lineage: string, epoch: number): string {
  return `${prefix}:snapshot:${lineage}:${epoch}`;
}

/** The name under which a member uploads a snapshot before it becomes visible. */
export function uploadKey({ prefix }: FilterKeys, member: string): string {
  return `${prefix}:upload:${member}`;
}
