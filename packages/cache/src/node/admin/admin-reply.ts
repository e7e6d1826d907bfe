/** The answer of an admin endpoint, before it is written. */

/** The path below which all admin endpoints are. */
export const ADMIN_PREFIX = '/.bloomery/';

export interface Reply {
  readonly status: number;
  readonly body: string | Buffer;
  /** Default: plain text. */
  readonly type?: string;
  /** Default: no-store. */
  readonly cacheControl?: string;
  /** Further fields, as a flat list of names and values. */
  readonly fields?: readonly string[];
}

export function json(value: unknown): Reply {
  return { status: 200, type: 'application/json', body: `${JSON.stringify(value, null, 2)}\n` };
}

/** JSON in one line, for programs. */
export function compactJson(value: unknown): Reply {
  return { status: 200, type: 'application/json', body: `${JSON.stringify(value)}\n` };
}

export function forbidden(why: string): Reply {
  return { status: 403, body: `Refused: ${why}.\n` };
}
