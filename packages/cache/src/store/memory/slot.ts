/**
 * The stored responses of one key in memory, and the entries that hold them for the eviction
 * policy. The functions keep the two lists of a slot and its newest entry in step.
 */

import type { StoredResponse } from '../../policy/stored-response.ts';
import { newestFirstIndex, sameResponse } from '../variants.ts';
import type { QueueEntry } from './s3-fifo.ts';

/**
 * The variants of a key, newest first. `responses` is returned to callers, so it is replaced and
 * never changed.
 */
export interface Slot {
  responses: readonly StoredResponse[];
  /**
   * `entries[0]`: saves two steps on the hot path, each of them a miss of the processor's cache.
   */
  newest: Entry;
  entries: Entry[];
}

export class Entry implements QueueEntry {
  response: StoredResponse;
  readonly body: Uint8Array;
  cost: number;
  uses = 0;
  used = false;
  queue: QueueEntry['queue'] = undefined;
  previous: QueueEntry | undefined = undefined;
  next: QueueEntry | undefined = undefined;

  constructor(response: StoredResponse, body: Uint8Array, cost: number) {
    this.response = response;
    this.body = body;
    this.cost = cost;
  }

  get key(): string {
    return this.response.key;
  }

  /** The bytes that the body pins outside the heap. */
  get bodyBytes(): number {
    return this.body.buffer.byteLength;
  }
}

export const NOTHING = new Entry({ key: '' } as StoredResponse, new Uint8Array(0), 0);

export function entryIn(slot: Slot, response: StoredResponse): Entry | undefined {
  const { entries } = slot;
  for (let i = 0; i < entries.length; i++) if (entries[i]!.response === response) return entries[i];
  return entries.find((entry) => sameResponse(entry.response, response));
}

export function link(slot: Slot, entry: Entry): void {
  slot.entries.splice(newestFirstIndex(slot.responses, entry.response), 0, entry);
  relist(slot);
}

export function unlink(slot: Slot, entry: Entry): void {
  const at = slot.entries.indexOf(entry);
  if (at >= 0) slot.entries.splice(at, 1);
  relist(slot);
}

export function relist(slot: Slot): void {
  slot.responses = slot.entries.map((entry) => entry.response);
  slot.newest = slot.entries[0] ?? NOTHING;
}
