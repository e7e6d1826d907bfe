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
 *   (no CORS, `Cross-Origin-Resource-Policy`), `Sec-Fetch-Site` and `Origin` are obeyed, and POST
 *   needs the field `Bloomery-Admin`, which a page cannot send without asking first (a CORS
 *   preflight, which is refused).
 * - POST needs the token as well (admin-token.ts). The exception is a request from this machine,
 *   not from a browser, to a node whose operator set no token.
 * - A reverse proxy serves pages of other sites at its own address, and their scripts would have
 *   the same origin as the console. At such an address, the console's endpoints are for programs
 *   alone.
 *
 * Where it breaks down: another reverse proxy on the same machine that adds none of those fields
 * makes outside clients look local. Then `--admin-listen` moves the endpoints to a port of their
 * own, or `--admin-client none` switches them off.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { WarmError } from '../../peers/warming/warm-error.ts';
import type { WarmUp } from '../../peers/warming/warm-up.ts';
import { closeAfter } from '../../safety/node-internals.ts';
import { textFields } from '../../safety/own-answer.ts';
import type { FleetPurge } from '../cache-node.ts';
import { CONSOLE_ENDPOINTS, type NodeConsole } from '../console/node-console.ts';
import { METRICS_TYPE } from '../metrics/metrics-text.ts';
import { type AccessOptions, refusalOf } from './admin-access.ts';
import { ADMIN_PREFIX, json, type Reply } from './admin-reply.ts';

export interface AdminEndpointsOptions extends AccessOptions {
  /** Whether the endpoints share their address with pages of other sites (a reverse proxy). */
  readonly servesOthers: boolean;
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
  readonly console: Pick<NodeConsole, 'answer' | 'page' | 'needsToken'>;
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
  const reply = await replyTo(request, response, client, options);
  if (reply === null) return;
  const body = typeof reply.body === 'string' ? Buffer.from(reply.body) : reply.body;
  // An unread body would be taken for the next request.
  if (!request.complete) closeAfter(response);
  const { type = 'text/plain; charset=utf-8', cacheControl } = reply;
  response.writeHead(reply.status, [
    ...textFields(type, body.length, cacheControl),
    'Cross-Origin-Resource-Policy',
    'same-origin',
    ...(reply.fields ?? []),
  ]);
  response.end(request.method === 'HEAD' ? undefined : body);
}

/** Returns null if the answer is being written already. */
async function replyTo(
  request: IncomingMessage,
  response: ServerResponse,
  client: string,
  options: AdminEndpointsOptions,
): Promise<Reply | null> {
  const target = request.url ?? '';
  const query = target.indexOf('?');
  const endpoint = target.slice(ADMIN_PREFIX.length, query < 0 ? undefined : query);
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const page = pageName(endpoint);
  const methods = page === null ? CONSOLE_ENDPOINTS.get(endpoint) : PAGE_METHODS;
  const wanted = endpoint === 'purge' || (endpoint === 'warm' && !isRead) ? 'POST' : 'GET';
  if (!isAdminPath(target) || !(ENDPOINTS.includes(endpoint) || methods !== undefined))
    return {
      status: 404,
      body: `No such endpoint. There are: ${[...ENDPOINTS, 'console/', ...CONSOLE_ENDPOINTS.keys()].map((name) => ADMIN_PREFIX + name).join(', ')}\n`,
    };
  if (endpoint === 'health' && isRead)
    return options.stopping() ? { status: 503, body: 'stopping\n' } : { status: 200, body: 'ok\n' };
  if (endpoint === 'ready' && isRead) {
    if (options.ready()) return { status: 200, body: 'ready\n' };
    return { status: 503, body: options.stopping() ? 'stopping\n' : 'starting\n' };
  }
  const refusal = refusalOf(request, client, options, {
    token: methods !== undefined && options.console.needsToken(endpoint),
    noBrowser: methods !== undefined && page === null && options.servesOthers,
  });
  if (refusal !== null) return refusal;
  const parameters = new URLSearchParams(query < 0 ? '' : target.slice(query + 1));
  if (methods !== undefined) {
    if (!methods.includes(request.method ?? '')) return notFor(endpoint, methods.join(', '));
    if (page === null) return options.console.answer(endpoint, parameters, request, response);
    if (options.servesOthers) return { status: 409, body: NEEDS_PORT };
    return options.console.page(page, request);
  }
  if (wanted === 'GET' ? !isRead : request.method !== 'POST') {
    return notFor(endpoint, wanted);
  }
  if (endpoint === 'metrics') return { status: 200, type: METRICS_TYPE, body: await options.metrics() };
  if (endpoint === 'status') return json(await options.status());
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

/**
 * The name of a file of the console's page: empty for the page itself, `..` for the page without
 * its last slash, null for all other endpoints.
 */
function pageName(endpoint: string): string | null {
  if (endpoint === 'console') return '..';
  return endpoint.startsWith('console/') ? endpoint.slice('console/'.length) : null;
}

const PAGE_METHODS = ['GET', 'HEAD'];
const NEEDS_PORT = `This node serves pages of other sites at this address (--upstream), and their scripts could use the console.
Give the console an address of its own: --admin-listen 127.0.0.1:PORT
`;

function notFor(endpoint: string, methods: string): Reply {
  return { status: 405, fields: ['Allow', methods], body: `${ADMIN_PREFIX}${endpoint} is for ${methods}.\n` };
}

const ENDPOINTS = ['health', 'ready', 'status', 'metrics', 'purge', 'warm'];
