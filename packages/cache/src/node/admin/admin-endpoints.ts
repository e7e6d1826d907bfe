/**
 * The admin endpoints, under `/.bloomery/`: health, readiness, status, metrics, and purging. They
 * share the ports of the proxy, so this file is mostly about which clients may not use them.
 *
 * - Only a request to the node itself counts. A request in absolute form (`GET
 *   http://…/.bloomery/status`) is a request to a proxy, and is handled as such. If it leads back
 *   here, the proxy has added `Via`. Requests that came through any proxy are refused (Via,
 *   Forwarded, X-Forwarded-…, X-Real-IP and all other fields that name a client elsewhere:
 *   `safety/unkeyed-fields.ts`), because their address is the proxy's and does not identify the
 *   client.
 * - Only clients in `adminClients` (loopback unless configured) are served, except for health and
 *   readiness, which return one word.
 * - A web page in the operator's own browser also connects from loopback. Against DNS rebinding
 *   (the page's own name now leads to 127.0.0.1), the Host must be an address, localhost or a
 *   configured name. Against plain cross-site requests, no response may be read by another origin
 *   (no CORS, `Cross-Origin-Resource-Policy`), `Sec-Fetch-Site` is obeyed, and POST needs the field
 *   `Bloomery-Admin`, which a page cannot send without asking first (a CORS preflight, which is
 *   refused).
 *
 * Where it breaks down: another reverse proxy on the same machine that adds none of those fields
 * makes outside clients look local. Then `--admin-listen` moves the endpoints to a port of their
 * own, or `--admin-client none` switches them off.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { WarmError } from '../../peers/warming/warm-error.ts';
import type { WarmUp } from '../../peers/warming/warm-up.ts';
import { closeAfter } from '../../safety/node-internals.ts';
import { textFields } from '../../safety/own-answer.ts';
import { isUnkeyed } from '../../safety/unkeyed-fields.ts';
import type { FleetPurge } from '../cache-node.ts';
import { METRICS_TYPE } from '../metrics/metrics-text.ts';

export const ADMIN_PREFIX = '/.bloomery/';
export const ADMIN_FIELD = 'Bloomery-Admin';

export interface AdminEndpointsOptions {
  readonly allows: (address: string) => boolean;
  readonly hosts: readonly string[];
  readonly stopping: () => boolean;
  /** Whether the node serves clients and will go on with it. */
  readonly ready: () => boolean;
  /** Both texts are produced on request. */
  readonly metrics: () => Promise<string>;
  readonly status: () => Promise<unknown>;
  /** Returns the number of removed responses; throws a `TypeError` for text that is not a URL. */
  readonly purge: (url: string) => Promise<number>;
  /** The same for this node and its neighbours. */
  readonly purgeFleet: (url: string) => Promise<FleetPurge>;
  /** The warm-up of the node; throws a `WarmError` if it can have none. */
  readonly warmUp: () => Pick<WarmUp, 'status' | 'start' | 'stop'>;
}

/**
 * Whether a request is for an admin endpoint. It is cheap, because it is called for every request.
 * Only the origin form (`/path`) can be one.
 */
export function isAdminPath(target: string): boolean {
  return target.charCodeAt(1) === 46 /* . */ && target.startsWith(ADMIN_PREFIX);
}

export async function answerAdminRequest(
  request: IncomingMessage,
  response: ServerResponse,
  client: string,
  options: AdminEndpointsOptions,
): Promise<void> {
  const reply = await replyTo(request, client, options);
  const body = Buffer.from(reply.body);
  // An unread body would be taken for the next request.
  if (!request.complete) closeAfter(response);
  response.writeHead(reply.status, [
    ...textFields(reply.type ?? 'text/plain; charset=utf-8', body.length),
    'Cross-Origin-Resource-Policy',
    'same-origin',
    ...(reply.allow === undefined ? [] : ['Allow', reply.allow]),
  ]);
  response.end(request.method === 'HEAD' ? undefined : body);
}

interface Reply {
  readonly status: number;
  readonly body: string;
  readonly type?: string;
  readonly allow?: string;
}

async function replyTo(
  request: IncomingMessage,
  client: string,
  options: AdminEndpointsOptions,
): Promise<Reply> {
  const target = request.url ?? '';
  const query = target.indexOf('?');
  const endpoint = target.slice(ADMIN_PREFIX.length, query < 0 ? undefined : query);
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const wanted = endpoint === 'purge' || (endpoint === 'warm' && !isRead) ? 'POST' : 'GET';
  if (!isAdminPath(target) || !ENDPOINTS.includes(endpoint))
    return {
      status: 404,
      body: `No such endpoint. There are: ${ENDPOINTS.map((name) => ADMIN_PREFIX + name).join(', ')}\n`,
    };
  if (endpoint === 'health' && isRead)
    return options.stopping() ? { status: 503, body: 'stopping\n' } : { status: 200, body: 'ok\n' };
  if (endpoint === 'ready' && isRead) {
    if (options.ready()) return { status: 200, body: 'ready\n' };
    return { status: 503, body: options.stopping() ? 'stopping\n' : 'starting\n' };
  }
  const refusal = refusalOf(request, client, options);
  if (refusal !== null) return refusal;
  if (wanted === 'GET' ? !isRead : request.method !== 'POST') {
    return { status: 405, allow: wanted, body: `${ADMIN_PREFIX}${endpoint} is for ${wanted}.\n` };
  }
  if (endpoint === 'metrics') return { status: 200, type: METRICS_TYPE, body: await options.metrics() };
  if (endpoint === 'status') return json(await options.status());
  const parameters = new URLSearchParams(query < 0 ? '' : target.slice(query + 1));
  if (endpoint === 'warm') return warmReply(parameters, isRead, options);
  const url = parameters.get('url');
  if (url === null)
    return {
      status: 400,
      body: `Expected the URL to forget: POST ${ADMIN_PREFIX}purge?url=http%3A%2F%2Forigin.example%2Fpath\n`,
    };
  try {
    if (parameters.has('fleet')) return json({ url, ...(await options.purgeFleet(url)) });
    return json({ url, purged: await options.purge(url) });
  } catch (error) {
    if (error instanceof TypeError) return { status: 400, body: `${error.message}\n` };
    return { status: 500, body: `Not purged: ${(error as Error).message}\n` };
  }
}

/** GET tells the state of the warm-up, POST begins one or stops it. */
function warmReply(
  parameters: URLSearchParams,
  isRead: boolean,
  { warmUp }: Pick<AdminEndpointsOptions, 'warmUp'>,
): Reply {
  try {
    const up = warmUp();
    const from = parameters.get('from');
    if (isRead) return json(up.status);
    if (parameters.has('stop')) up.stop();
    else if (from === null)
      return {
        status: 400,
        body: `Expected the neighbour: POST ${ADMIN_PREFIX}warm?from=http%3A%2F%2F10.0.0.2%3A3129\n`,
      };
    else
      up.start({
        from,
        isDryRun: parameters.has('dry-run'),
        maxBytes: amount(parameters, 'max-bytes'),
        bytesPerSecond: amount(parameters, 'rate'),
      });
    return json(up.status);
  } catch (error) {
    if (error instanceof WarmError) return { status: 409, body: `${error.message}\n` };
    if (error instanceof RangeError) return { status: 400, body: `${error.message}\n` };
    throw error;
  }
}

function amount(parameters: URLSearchParams, name: string): number | undefined {
  const text = parameters.get(name);
  if (text === null) return undefined;
  if (!/^[1-9]\d{0,14}$/.test(text))
    throw new RangeError(`Cannot warm up: expected ${name} as a number of bytes, got ${text}`);
  return Number(text);
}

function refusalOf(request: IncomingMessage, client: string, options: AdminEndpointsOptions): Reply | null {
  const { headers } = request;
  const proxied = Object.keys(headers).find((name) => name === 'via' || isUnkeyed(name));
  if (proxied !== undefined) return forbidden(`it came through a proxy (${proxied})`);
  if (!options.allows(client)) return forbidden(`${client} is not in --admin-client`);
  if (!isOwnHost(headers.host, options.hosts))
    return forbidden('its Host is no address of this node (--admin-host adds one)');
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    return forbidden('another web site asked for it');
  if (request.method === 'POST' && headers[ADMIN_FIELD.toLowerCase()] === undefined) {
    return forbidden(`the field ${ADMIN_FIELD} is missing (curl -X POST -H '${ADMIN_FIELD}: 1' …)`);
  }
  return null;
}

/** An address cannot be rebound, and browsers do not look up localhost in the DNS. */
function isOwnHost(host: string | undefined, known: readonly string[]): boolean {
  if (host === undefined) return true; // HTTP/1.0: no browser
  const name = host.replace(/:\d*$/, '').toLowerCase();
  if (name.startsWith('[')) return name.endsWith(']') && isIP(name.slice(1, -1)) === 6;
  return isIP(name) === 4 || name === 'localhost' || known.includes(name);
}

function forbidden(why: string): Reply {
  return { status: 403, body: `Refused: ${why}.\n` };
}

function json(value: unknown): Reply {
  return { status: 200, type: 'application/json', body: `${JSON.stringify(value, null, 2)}\n` };
}

const ENDPOINTS = ['health', 'ready', 'status', 'metrics', 'purge', 'warm'];
