/**
 * Every limit of the cache: how much it accepts from a client and from an origin, and how long it
 * waits for either.
 *
 * The promise: nothing that a client or an origin sends or withholds makes this process keep more
 * bytes, sockets or time than is written here. There is no "0 means no limit": a limit that is off
 * is the one an attacker finds. Operators who want a large limit write a large number.
 *
 * Each limit has a unit in its name (`…Bytes`, `…Ms`; the others are counts), a default, a sensible
 * range and a reason. This table is the only source: the type, the defaults, the checks and the
 * documentation are derived from it.
 *
 * Where it breaks down: these limits are per process. With several worker processes, each has its
 * share of `connections` and `connectionsPerClient`, and the full value of all others. And bytes
 * are counted as they are on the wire: a response compressed by its origin counts compressed.
 */

export interface Limits {
  /** Request line and header fields of one request. */
  readonly headBytes: number;
  /** The request target as the client wrote it. */
  readonly urlBytes: number;
  /** Header fields of a request, and of a response. */
  readonly headerCount: number;
  /** Body of a request. */
  readonly requestBodyBytes: number;
  /** Status line and header fields of one response. */
  readonly responseHeadBytes: number;
  /** Body of a response, stored or not. */
  readonly responseBodyBytes: number;
  /** Body of a response that is stored; a longer one streams through. */
  readonly storedObjectBytes: number;
  /** Open client connections in total. */
  readonly connections: number;
  /** Open connections from one client address. */
  readonly connectionsPerClient: number;
  /** Requests on one connection before it is closed. */
  readonly requestsPerConnection: number;
  /** Unanswered requests on one connection; one more is refused. */
  readonly pipelinedRequests: number;
  /** From the first byte of a request to the end of its head. */
  readonly headTimeoutMs: number;
  /** From the first byte of a request to the end of its body. */
  readonly requestTimeoutMs: number;
  /** A client connection without a request. */
  readonly idleTimeoutMs: number;
  /** Name lookup, TCP and TLS handshake with an origin. */
  readonly originConnectTimeoutMs: number;
  /** From sending the request to the head of the response. */
  readonly originHeadTimeoutMs: number;
  /** Between two pieces of a response body. */
  readonly originIdleTimeoutMs: number;
  /** How long a request waits for another request's fetch of the same object. */
  readonly flightWaitMs: number;
  /** How long a client may accept none of the bytes sent to it. */
  readonly clientStallMs: number;
}

export interface LimitInfo {
  readonly default: number;
  readonly unit: 'bytes' | 'ms' | 'count';
  readonly min: number;
  readonly max: number;
  readonly why: string;
}

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

/**
 * Node's timers accept at most 2^31 - 1 ms and fire at once beyond that, so a longer wait would be
 * none. A day is enough.
 */
const longestWait = DAY;

export const LIMITS: { readonly [name in keyof Limits]: LimitInfo } = {
  headBytes: bytes(32 * KiB, 1 * KiB, 1 * MiB, 'twice the default of Node, so that large cookies pass'),
  urlBytes: bytes(
    8 * KiB,
    256,
    1 * MiB,
    'RFC 9110, 4.1 asks for at least 8000 octets; longer keys would only fill the store',
  ),
  headerCount: count(128, 8, 2000, 'several times what browsers send; each costs time in every hop'),
  requestBodyBytes: bytes(
    1 * GiB,
    0,
    1024 * GiB,
    'bodies stream through and are not kept; this limit ends endless ones',
  ),
  responseHeadBytes: bytes(64 * KiB, 1 * KiB, 1 * MiB, 'kept in memory for each stored response'),
  responseBodyBytes: bytes(64 * GiB, 1 * KiB, 1024 * GiB, 'disk images pass; endless bodies end'),
  storedObjectBytes: bytes(1 * GiB, 1 * KiB, 1024 * GiB, 'one object must not evict all others'),
  connections: count(
    4096,
    1,
    1_000_000,
    'each costs a file descriptor, and each fetch one more (up to 256 per origin); `ulimit -n` should be well above twice this',
  ),
  connectionsPerClient: count(
    256,
    1,
    1_000_000,
    'a browser opens 6 per origin; one client must not use up all connections',
  ),
  requestsPerConnection: count(
    10_000,
    1,
    1_000_000_000,
    'lets clients reach other workers from time to time',
  ),
  pipelinedRequests: count(
    64,
    1,
    1_000_000,
    'clients seldom send more than one request ahead; each may cause a fetch, and one connection must not start thousands',
  ),
  headTimeoutMs: wait(
    10 * SECOND,
    'a head is one or two packets; a slower one is treated as an attack on sockets',
  ),
  requestTimeoutMs: wait(
    5 * MINUTE,
    'the whole request with its body; raise it for large uploads over slow lines',
  ),
  idleTimeoutMs: wait(
    60 * SECOND,
    'a kept-alive connection costs memory, a new one costs the client a round trip',
  ),
  originConnectTimeoutMs: wait(
    10 * SECOND,
    'three TCP attempts (after 1, 3 and 7 s) reach an origin that is alive',
  ),
  originHeadTimeoutMs: wait(60 * SECOND, 'slow pages exist; a silent origin must not hold a client forever'),
  originIdleTimeoutMs: wait(60 * SECOND, 'an origin that stops in the middle of a body is gone'),
  flightWaitMs: wait(
    10 * SECOND,
    'after that a waiting request fetches for itself, so that one slow fetch does not block all',
  ),
  clientStallMs: wait(2 * MINUTE, 'a client that reads nothing holds buffers and a connection'),
};

export const LIMIT_NAMES = Object.keys(LIMITS) as readonly (keyof Limits)[];

export const DEFAULT_LIMITS: Limits = Object.freeze(
  Object.fromEntries(LIMIT_NAMES.map((name) => [name, LIMITS[name].default])) as Record<keyof Limits, number>,
);

/**
 * The limits, with `chosen` overriding the defaults. Throws a `RangeError` (a value out of its
 * range, or two values that contradict each other) or a `TypeError` (not a number, or an unknown
 * name: a misspelt limit would silently have no effect).
 */
export function checkLimits(chosen: Partial<Limits> = {}): Limits {
  const limits: { -readonly [name in keyof Limits]: number } = { ...DEFAULT_LIMITS };
  for (const [name, value] of Object.entries(chosen)) {
    if (!Object.hasOwn(LIMITS, name)) {
      throw new TypeError(`Cannot set limit "${name}": expected one of ${LIMIT_NAMES.join(', ')}`);
    }
    if (value === undefined) continue;
    const { min, max, unit } = LIMITS[name as keyof Limits];
    if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
      throw new TypeError(
        `Cannot set limit ${name}: expected a whole number (${unit}), got ${describe(value)}`,
      );
    }
    if (value < min || value > max) {
      throw new RangeError(`Cannot set limit ${name}: expected ${min} to ${max} (${unit}), got ${value}`);
    }
    limits[name as keyof Limits] = value;
  }
  for (const [smaller, larger] of ordered) {
    if (limits[smaller] <= limits[larger]) continue;
    // A limit that was lowered also lowers the other's default. Two explicit values that contradict
    // each other are an error.
    if (chosen[smaller] === undefined) {
      limits[smaller] = limits[larger];
    } else if (chosen[larger] === undefined) {
      limits[larger] = limits[smaller];
    } else {
      throw new RangeError(
        `Cannot set limit ${smaller}: expected at most ${larger} (${limits[larger]}), got ${limits[smaller]}`,
      );
    }
  }
  return Object.freeze(limits);
}

/** Pairs of limits; the first must not exceed the second. */
const ordered: readonly (readonly [keyof Limits, keyof Limits])[] = [
  ['urlBytes', 'headBytes'],
  ['storedObjectBytes', 'responseBodyBytes'],
  ['connectionsPerClient', 'connections'],
  ['headTimeoutMs', 'requestTimeoutMs'],
];

function bytes(value: number, min: number, max: number, why: string): LimitInfo {
  return { default: value, unit: 'bytes', min, max, why };
}

function count(value: number, min: number, max: number, why: string): LimitInfo {
  return { default: value, unit: 'count', min, max, why };
}

function wait(value: number, why: string): LimitInfo {
  return { default: value, unit: 'ms', min: 10, max: longestWait, why };
}

function describe(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
