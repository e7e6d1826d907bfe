/**
 * The address of a NATS server as an operator writes it: `nats://10.0.0.5:4222`, or several of one
 * cluster, separated by commas. `tls://` insists on TLS. A user and a password, or a token alone,
 * may stand before the host; they are never a part of `shown`, which is what logs and pages get.
 */

export interface NatsUrl {
  /** Host and port of each server. */
  readonly servers: readonly string[];
  readonly isTls: boolean;
  readonly user: string | null;
  readonly password: string | null;
  /** A token: the part before `@` if it has no colon. */
  readonly token: string | null;
  /** The addresses without user, password and token. */
  readonly shown: string;
}

const DEFAULT_PORT = 4222;

/** Reads the address. Throws a RangeError that does not repeat a password. */
export function parseNatsUrl(text: string): NatsUrl {
  const parts = text.split(',').map((part) => readOne(part.trim()));
  const [first] = parts;
  if (parts.some(({ isTls }) => isTls !== first.isTls)) throw refusal('one scheme for all servers');
  const named = parts.find(({ user }) => user !== '');
  return {
    servers: parts.map(({ host }) => host),
    isTls: first.isTls,
    user: named?.hasPassword ? named.user : null,
    password: named?.hasPassword ? named.password : null,
    token: named === undefined || named.hasPassword ? null : named.user,
    shown: parts.map(({ isTls, host }) => `${isTls ? 'tls' : 'nats'}://${host}`).join(','),
  };
}

function readOne(text: string) {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isTls = url?.protocol === 'tls:';
  if (url === null || !(isTls || url.protocol === 'nats:') || url.hostname === '')
    throw refusal('nats://host:port or tls://host:port');
  if (url.search + url.hash !== '' || !/^\/?$/.test(url.pathname)) throw refusal('an address without a path');
  const port = url.port === '' ? DEFAULT_PORT : Number(url.port);
  return {
    isTls,
    host: `${url.hostname}:${port}`,
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    // URL drops the colon of an empty password, which no server accepts anyway.
    hasPassword: url.password !== '',
  };
}

/** The text is not repeated, because a password may stand in it. */
function refusal(expected: string): RangeError {
  return new RangeError(`Cannot use the address of a NATS server: expected ${expected}, got another text`);
}
