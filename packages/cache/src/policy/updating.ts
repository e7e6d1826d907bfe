/**
 * The fields of a stored response after newer fields arrived for it (RFC 9111, 3.2): in a 304, in a
 * 200 to HEAD, or with another part.
 *
 * Each incoming field replaces all lines of that name; the others stay. The exceptions are fields
 * that describe the stored bytes, which a message without these bytes cannot change. 3.2 forbids
 * this for Content-Length, and lets a cache keep the fields that its handling of the stored bytes
 * relies on. Servers do send a wrong Content-Encoding or Content-Length with a 304, and a body
 * decoded with it is garbage. Content-Type is updated.
 *
 * The Set-Cookie of a 304 is for the client whose request caused the validation. It is not stored,
 * and only that client gets it (`ownersFields`): it asked the origin and must receive everything
 * that the origin sent (RFC 6265, 3: cookies may come with any response). The same holds for fields
 * that the 304 forbids to store (RFC 9111, 5.2.2.4 and 5.2.2.7: `no-cache="…"`, `private="…"`).
 */

import { fieldValue, withoutFields } from './fields.ts';
import { endToEndFields } from './forwarding.ts';
import type { FieldList } from './stored-response.ts';

export function updatedFields(stored: FieldList, incoming: FieldList): string[] {
  const newer = withoutFields(endToEndFields(incoming), NEVER_UPDATED);
  const names = new Set<string>();
  for (let i = 0; i < newer.length; i += 2) names.add(newer[i]!.toLowerCase());
  const fields = withoutFields(stored, names);
  for (const text of newer) fields.push(text);
  return fields;
}

/**
 * The fields of the answer to the client whose request caused the validation: those of the updated
 * response, and the incoming fields that were not stored. Returns the same list if there are none
 * of the latter.
 */
export function ownersFields(updated: FieldList, incoming: FieldList): FieldList {
  const own: string[] = [];
  const names = new Set<string>();
  const came = withoutFields(endToEndFields(incoming), OF_THE_BYTES);
  for (let i = 0; i < came.length; i += 2) {
    const name = came[i]!.toLowerCase();
    if (name !== 'set-cookie' && fieldValue(updated, name) !== undefined) continue;
    names.add(name);
    own.push(came[i]!, came[i + 1]!);
  }
  return own.length === 0 ? updated : [...withoutFields(updated, names), ...own];
}

/**
 * The stored fields, with only those about freshness and validators taken from the update. Used if
 * the update was the answer to one person's request, because its other fields may be about that
 * person.
 */
export function cacheFieldsOnly(stored: FieldList, updated: FieldList): string[] {
  const fields: string[] = [];
  for (let i = 0; i < stored.length; i += 2) {
    if (!isForCaches(stored[i]!)) fields.push(stored[i]!, stored[i + 1]!);
  }
  for (let i = 0; i < updated.length; i += 2) {
    if (isForCaches(updated[i]!)) fields.push(updated[i]!, updated[i + 1]!);
  }
  return fields;
}

/** Cache-Control, all targeted fields (RFC 9213), and the fields of RFC 9111, 4.2 and 4.3. */
function isForCaches(name: string): boolean {
  return /(^|-)cache-control$|^(date|etag|expires|last-modified|pragma|vary)$/i.test(name);
}

const OF_THE_BYTES: ReadonlySet<string> = new Set([
  'age',
  'content-encoding',
  'content-length',
  'content-range',
]);
const NEVER_UPDATED: ReadonlySet<string> = new Set([...OF_THE_BYTES, 'set-cookie']);
