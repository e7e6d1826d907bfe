/**
 * The memory cost of a stored response: the limit of a memory store is only useful if it counts the
 * memory that is really used.
 *
 * Counted are the buffer that the body pins (all of it, even if the body is a view of a part), the
 * characters of the key, of the header fields, of the secondary key and of the other texts, a
 * header for each of these strings, and a constant for the objects around them: the response, its
 * lists, the entry with its links, the slot in the map. Node's strings take one byte per character
 * as long as all are Latin-1, which header fields are. Keys beyond Latin-1 take twice the bytes
 * that are counted.
 *
 * The constants were fitted to Node 20 on 64 bits without pointer compression.
 * `memory-store.test.ts` compares the sum with the growth of the heap, and fails if it is off by
 * more than a quarter. Not counted: evicted bodies that readers still hold, and arriving bodies
 * (which have a limit of their own: see memory-store.ts).
 */

import type { StoredResponse } from '../../policy/stored-response.ts';

export function responseCost(response: StoredResponse, body: Uint8Array): number {
  let cost = ENTRY_BYTES + body.buffer.byteLength + (body.buffer.byteLength > 0 ? BUFFER_BYTES : 0);
  cost += textCost(response.key) + textCost(response.statusText) + textCost(response.etag);
  for (const text of response.headers) cost += textCost(text);
  for (const [name, value] of response.varied) cost += PAIR_BYTES + textCost(name) + textCost(value);
  return cost;
}

function textCost(text: string | null): number {
  if (text === null) return 0;
  // 16 bytes of header, rounded up to 8, and 8 for the reference.
  return 24 + ((text.length + 7) & ~7);
}

/** The response, two lists of it, the entry, the slot and its place in the map. */
const ENTRY_BYTES = 560;
/** A Buffer and its ArrayBuffer, without the bytes. */
const BUFFER_BYTES = 200;
const PAIR_BYTES = 48;
