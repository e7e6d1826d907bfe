/**
 * The answer to a Squid that asks for the digest of this node, on the port for clients.
 *
 * - 200 every time, and never 304: Squid up to 6 frees a digest twice over a 304 (fixed in 7.0.1).
 * - `Content-Length` is exact: Squid before 7.6 can overflow on a longer body.
 * - Head, digest header and mask are sent 60 ms apart. Squid's `peerDigestHandleReply` moves the
 *   wrong number of bytes when they arrive together (its bug 5510, in all releases so far), and
 *   then reads a damaged digest. In a measurement with 4,000 objects, Squid 5.7 found 11 % of them
 *   by a digest that came in one write, and all of them by the same digest sent like this.
 * - `Expires` tells Squid when to look again: 300 s after it.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '@bloomery/transport';
import { formatHttpDate } from '../../policy/http-date.ts';
import type { BuiltDigest } from './own-digest.ts';

/** The path under which every Squid serves and expects a digest. */
export const DIGEST_PATH = '/squid-internal-periodic/store_digest';

/** Bytes of the header of a digest, which Squid reads apart from the mask. */
const HEADER_BYTES = 128;
const PAUSE_MS = 60;

/**
 * Whether a target names the digest: the path alone, or a URL of this node with that path. A URL of
 * another host is that host's digest, and is fetched from there like any other object.
 */
export function isDigestTarget(target: string, isOwn: (host: string, port: number) => boolean): boolean {
  if (!target.endsWith(DIGEST_PATH)) return false;
  if (target.length === DIGEST_PATH.length) return true;
  const origin = target.slice(0, -DIGEST_PATH.length);
  if (!/^http:\/\/[^/?#@]+$/i.test(origin) || !URL.canParse(origin)) return false;
  const { hostname, port } = new URL(origin);
  return isOwn(hostname, port === '' ? 80 : Number(port));
}

/** Sends a digest in three writes. */
export function sendDigest(
  req: IncomingMessage,
  res: ServerResponse,
  { bytes, builtAt, expiresAt }: BuiltDigest,
  clock: Clock,
): void {
  res.writeHead(200, 'Cache Digest OK', [
    'Content-Type',
    'application/cache-digest',
    'Content-Length',
    String(bytes.length),
    'Last-Modified',
    formatHttpDate(builtAt),
    'Expires',
    formatHttpDate(expiresAt),
  ]);
  if (req.method === 'HEAD') {
    res.end();
    return;
  }
  res.flushHeaders();
  let cancel = clock.after(PAUSE_MS, () => {
    res.write(bytes.subarray(0, HEADER_BYTES));
    cancel = clock.after(PAUSE_MS, () => res.end(bytes.subarray(HEADER_BYTES)));
  });
  res.once('close', () => cancel());
}
