/**
 * The fields of a stored response after newer ones came for it (RFC 9111, 3.2): in a 304, in a 200 to HEAD, or with another part.
 *
 * Each field that came replaces all lines of that name; others stay. Except those that describe the bytes that are here, which a message
 * without these bytes cannot change: 3.2 forbids it of Content-Length, and lets a cache keep what its handling of the stored bytes
 * relies on. Servers do send a wrong Content-Encoding or Content-Length with a 304, and a body that is then read with it is garbage.
 * Content-Type is updated.
 *
 * Set-Cookie of a 304 is for the one whose request was validated: it is not stored, and goes to that one alone (`ownersFields`), who asked
 * the origin and must hear all that it said (RFC 6265, 3: cookies may come with any response). So do fields that the 304 forbids to store
 * (RFC 9111, 5.2.2.4 and 5.2.2.7: `no-cache="…"`, `private="…"`).
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
 * The fields of the answer for the one whose request was validated: those of the updated response, and those that came for it and were not
 * stored. The same list if there are none.
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
 * An updated response as far as it is about freshness and validators; all else as it was stored. For an update that came to one person, whose
 * other fields may be about that person.
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

/** Cache-Control, and all that are targeted (RFC 9213); and those of RFC 9111, 4.2 and 4.3. */
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
