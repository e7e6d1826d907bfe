/**
 * The fields of a stored response after newer ones came for it (RFC 9111, 3.2): in a 304, in a 200 to HEAD, or with another part.
 *
 * Each field that came replaces all lines of that name; others stay. Except those that describe the bytes that are here, which a message
 * without these bytes cannot change: 3.2 forbids it of Content-Length, and lets a cache keep what its handling of the stored bytes
 * relies on. Servers do send a wrong Content-Encoding or Content-Length with a 304, and a body that is then read with it is garbage.
 * Content-Type is updated.
 */

import type { FieldList } from '../stored-response.ts';
import { withoutFields } from './fields.ts';
import { endToEndFields } from './forwarding.ts';

export function updatedFields(stored: FieldList, incoming: FieldList): string[] {
  const newer = withoutFields(endToEndFields(incoming), NEVER_UPDATED);
  const names = new Set<string>();
  for (let i = 0; i < newer.length; i += 2) names.add(newer[i]!.toLowerCase());
  const fields = withoutFields(stored, names);
  for (const text of newer) fields.push(text);
  return fields;
}

const NEVER_UPDATED: ReadonlySet<string> = new Set([
  'age',
  'content-encoding',
  'content-length',
  'content-range',
  // It was for the one whose request was validated.
  'set-cookie',
]);
