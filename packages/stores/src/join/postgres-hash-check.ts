/** Compares a server with the port of its hash functions, before a filter is sent to it. */

import { JoinError } from './join-error.ts';
import { hashBytes, hashInteger, hashValue } from './postgres-hash.ts';

/** `get_bit` takes a 64-bit index since PostgreSQL 14. */
const LEAST_VERSION = 140_000;

/**
 * Rejects if the server's hashes are not those of the port. They differ on machines of the other
 * byte order. The text has letters outside of ASCII, so another encoding shows as well.
 */
export async function checkHashes(rows: (text: string) => Promise<string[][]>): Promise<void> {
  const [[version]] = await rows('show server_version_num');
  if (Number(version) < LEAST_VERSION) {
    throw refused(`expected PostgreSQL ${LEAST_VERSION / 10_000} or later, got ${Number(version) / 10_000}`);
  }
  const [[encoding]] = await rows('show server_encoding');
  if (encoding !== 'UTF8') throw refused(`expected a database in UTF8, got ${encoding}`);
  const [theirs] = await rows(
    `select pg_catalog.hashtextextended('bloomery, é€', 1)::text, pg_catalog.hashtextextended('', 7)::text,
       pg_catalog.hashint8extended(-42, 1)::text,
       pg_catalog.uuid_hash_extended('00112233-4455-6677-8899-aabbccddeeff', 1)::text,
       get_bit('\\x0100'::bytea, 0::int8)::text || get_bit('\\x0100'::bytea, 7::int8)::text`,
  );
  const uuid = Uint8Array.from({ length: 16 }, (_, i) => i * 0x11);
  const ours = [
    hashOf(() => hashBytes(new TextEncoder().encode('bloomery, é€'), 0, 1)),
    hashOf(() => hashBytes(new Uint8Array(0), 0, 7)),
    hashOf(() => hashInteger(-42n, 0, 1)),
    hashOf(() => hashBytes(uuid, 0, 1)),
    '10',
  ];
  if (ours.join() !== theirs.join())
    throw refused(`expected the hashes ${ours.join(', ')}, got ${theirs.join(', ')}`);
}

function refused(why: string): JoinError {
  return new JoinError('hash', `Cannot push a filter to PostgreSQL: ${why}`);
}

function hashOf(hash: () => void): string {
  hash();
  return hashValue().toString();
}
