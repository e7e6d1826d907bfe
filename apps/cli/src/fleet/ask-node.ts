/**
 * Asks an admin endpoint of a running node, for `cache peers`, `purge` and `warm`. Every way in
 * which the node cannot be asked is one line that names `--node`.
 */

import { UsageError } from '../usage-error.ts';

/** The variable by which a node is given its token (`--admin-token`), and the command the same. */
const TOKEN_VARIABLE = 'BLOOMERY_CACHE_ADMIN_TOKEN';

export interface NodeQuestion {
  /** The value of `--node`. */
  readonly node: string;
  /** Path of the endpoint, such as `/.bloomery/status`. */
  readonly path: string;
  /** Default GET. */
  readonly method?: 'GET' | 'POST';
  readonly parameters?: Readonly<Record<string, string>>;
  /** How long the node may take to answer. */
  readonly withinMs: number;
}

export interface NodeAnswer {
  readonly text: string;
  /** Scheme, host and port of the node, for messages. */
  readonly origin: string;
}

export async function askNode({
  node,
  path,
  method = 'GET',
  parameters = {},
  withinMs,
}: NodeQuestion): Promise<NodeAnswer> {
  let place: URL;
  try {
    place = new URL(path, node);
  } catch {
    throw new UsageError(`--node: expected a URL such as http://127.0.0.1:3128, got ${node}`);
  }
  place.search = new URLSearchParams(parameters).toString();
  const { origin } = place;
  let response: Response;
  try {
    // The node takes changes only with this field, which a page of another site cannot send.
    const headers: Record<string, string> = method === 'POST' ? { 'Bloomery-Admin': '1' } : {};
    const token = process.env[TOKEN_VARIABLE];
    if (method === 'POST' && token !== undefined) headers.Authorization = `Bearer ${token}`;
    response = await fetch(place, { method, headers, signal: AbortSignal.timeout(withinMs) });
  } catch (error) {
    const { cause, message } = error as Error;
    const why = (cause as NodeJS.ErrnoException | undefined)?.code ?? message;
    throw new UsageError(`no node answers at ${origin} (${why}); --node says where it is`);
  }
  const text = await response.text();
  if (response.status === 401) throw new UsageError(`${origin} needs its token; ${TOKEN_VARIABLE} gives it`);
  if (!response.ok) throw new UsageError(`${origin} answered ${response.status}: ${text.trim()}`);
  return { text, origin };
}
