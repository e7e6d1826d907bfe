/**
 * Decides which requests the admin endpoints refuse. The reasons are in `admin-endpoints.ts` and in
 * docs/spec/console.md, "Who may ask".
 *
 * The order matters: a request of another web site is refused before its token is looked at, so a
 * page cannot use up the guesses of a minute.
 */

import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { ClientGuard } from '../../safety/client-guard.ts';
import { isUnkeyed } from '../../safety/unkeyed-fields.ts';
import { forbidden, type Reply } from './admin-reply.ts';
import type { AdminToken } from './admin-token.ts';

export const ADMIN_FIELD = 'Bloomery-Admin';

export interface AccessOptions {
  readonly allows: (address: string) => boolean;
  readonly hosts: readonly string[];
  readonly token: AdminToken;
}

/** The needs of an endpoint. */
export interface Needs {
  /** Whether a read needs the token as well. A POST always does. */
  readonly token: boolean;
  /** Whether the endpoint is for no browser, because foreign pages have the same origin. */
  readonly noBrowser: boolean;
}

const LOOPBACK = new ClientGuard();

/** The refusal of a request, or null if it is served. */
export function refusalOf(
  request: Pick<IncomingMessage, 'headers' | 'method'>,
  client: string,
  options: AccessOptions,
  needs: Needs,
): Reply | null {
  const { headers, method } = request;
  const proxied = Object.keys(headers).find((name) => name === 'via' || isUnkeyed(name));
  if (proxied !== undefined) return forbidden(`it came through a proxy (${proxied})`);
  if (!options.allows(client)) return forbidden(`${client} is not in --admin-client`);
  if (!isOwnHost(headers.host, options.hosts))
    return forbidden('its Host is no address of this node (--admin-host adds one)');
  const { origin } = headers;
  const site = headers['sec-fetch-site'];
  const isOtherSite = site !== undefined && site !== 'same-origin' && site !== 'none';
  if (isOtherSite || (origin !== undefined && !isSameHost(origin, headers.host)))
    return forbidden('another web site asked for it');
  const isBrowser = site !== undefined || origin !== undefined;
  if (isBrowser && needs.noBrowser)
    return forbidden('this node serves pages of other sites at this address (--admin-listen separates them)');
  if (method === 'POST' && headers[ADMIN_FIELD.toLowerCase()] === undefined)
    return forbidden(`the field ${ADMIN_FIELD} is missing (curl -X POST -H '${ADMIN_FIELD}: 1' …)`);
  if (method !== 'POST' && !needs.token) return null;
  const verdict = options.token.judge(headers.authorization);
  if (verdict.kind === 'right') return null;
  if (verdict.kind === 'locked')
    return {
      status: 429,
      fields: ['Retry-After', String(verdict.retryAfterSeconds)],
      body: 'Refused: too many wrong tokens. Wait a minute.\n',
    };
  // The command or curl on this machine, which can do as much to the node's files.
  if (verdict.kind === 'missing' && !isBrowser && !options.token.isSet && LOOPBACK.allows(client))
    return null;
  return {
    status: 401,
    fields: ['WWW-Authenticate', 'Bearer'],
    body: `Refused: the token is ${verdict.kind} (Authorization: Bearer …). The node prints it at its start, or has it from --admin-token.\n`,
  };
}

/** An address cannot be rebound, and browsers do not look up localhost in the DNS. */
function isOwnHost(host: string | undefined, known: readonly string[]): boolean {
  if (host === undefined) return true; // HTTP/1.0: no browser
  const name = host.replace(/:\d*$/, '').toLowerCase();
  if (name.startsWith('[')) return name.endsWith(']') && isIP(name.slice(1, -1)) === 6;
  return isIP(name) === 4 || name === 'localhost' || known.includes(name);
}

/** Browsers that send no `Sec-Fetch-Site` send the origin with a POST. */
function isSameHost(origin: string, host: string | undefined): boolean {
  return URL.canParse(origin) && host !== undefined && new URL(origin).host === host.toLowerCase();
}
