/**
 * The objects of this node that take part in a warm-up, read from the store some keys at a time.
 * They are those that a summary names: complete, fresh, impersonal (`policy/summary-rules.ts`).
 *
 * A list tells URLs, and a summary only keyed hashes of them, so it reveals more: a member of the
 * fleet learns which URLs this node has, without guessing them. It could also have asked for each
 * of these objects and got it. URLs whose query looks like a secret are never among them. A
 * response that was selected by fields of a client is offered only if these are Accept and
 * Accept-Encoding, because the list has to tell their values: others, such as User-Agent, describe
 * a person's device.
 */

import { isPeerCopy } from '../../policy/index.ts';
import type { StoredResponse } from '../../policy/stored-response.ts';
import type { ResponseStore } from '../../store/response-store.ts';
import type { WarmObject } from './decisions/warm-message.ts';

export interface OfferedObjectsOptions {
  readonly store: Pick<ResponseStore, 'keys' | 'peek'>;
  /** The time at which a response becomes stale, or null if it must not be shared. */
  readonly shareableUntil: (response: StoredResponse) => number | null;
  readonly now: () => number;
  /** Gives the event loop to others. */
  readonly pause: () => Promise<void>;
}

/** Fields whose values may be told to a neighbour. */
const TOLD_FIELDS: ReadonlySet<string> = new Set(['accept', 'accept-encoding']);
/** Keys that are looked up between two pauses. */
const BATCH = 64;
/** Objects of one warm-up: about 300 bytes of memory each while it runs. */
export const MOST_OBJECTS = 1_000_000;

/** `withCopies` adds copies of neighbours' objects, which this node has but does not offer. */
export async function readObjects(
  { store, shareableUntil, now, pause }: OfferedObjectsOptions,
  { withCopies, signal }: { readonly withCopies: boolean; readonly signal?: AbortSignal | undefined },
): Promise<WarmObject[]> {
  const objects: WarmObject[] = [];
  const seen = new Set<string>();
  let count = 0;
  for await (const key of store.keys()) {
    if (++count % BATCH === 0) {
      await pause();
      signal?.throwIfAborted();
    }
    if (seen.has(key)) continue;
    seen.add(key);
    for (const response of await store.peek(key)) {
      const until = shareableUntil(response);
      const { varied, bodyLength } = response;
      if (until === null || until <= now() || (!withCopies && isPeerCopy(response))) continue;
      if (!isTellable(varied)) continue;
      objects.push({ key, varied, bytes: bodyLength, freshMs: until - now() });
    }
    if (objects.length >= MOST_OBJECTS) break;
  }
  return objects;
}

/** Whether the fields that selected a response may be told. */
export function isTellable(varied: WarmObject['varied']): boolean {
  return varied.every(([name]) => TOLD_FIELDS.has(name));
}

/** The text by which two nodes compare an object. */
export function itemOf({ key, varied }: WarmObject): string {
  return varied.length === 0 ? key : `${key}\n${JSON.stringify(varied)}`;
}
