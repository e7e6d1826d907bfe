/**
 * One Squid as this node knows it: its digest, which is fetched again when it expires, and the
 * experience with it (`decisions/peer-score.ts`).
 *
 * A digest comes from a program that proves nothing. Its length is known before a byte of it is
 * kept, and is 16 MiB at most (27 million objects with 5 bits per entry), or less if the memory for
 * all digests is less. Version, sizes and density are checked as Squid does it: a digest with more
 * than 65 % ones is refused, since it says "maybe" to nearly everything. A Squid without a usable
 * digest is not asked. A digest that lies at a permitted density costs what the score allows: 20
 * questions in vain, then one in 32.
 *
 * A failed fetch drops the digest that was there: it is as old as its `Expires` by then, and a
 * Squid that does not give its digest would hardly give its objects.
 */

import type { Cancel, Clock } from '@bloomery/transport';
import { SquidDigest } from 'bloomery/formats/squid';
import { fieldValue } from '../../policy/fields.ts';
import { parseHttpDate } from '../../policy/http-date.ts';
import type { ResponseHead } from '../../policy/message-head.ts';
import type { OriginClient } from '../../proxy/origin/origin-client.ts';
import type { SourceFetch } from '../../proxy/response-source.ts';
import { nextDigestMs, retryDigestMs } from '../decisions/digest-schedule.ts';
import { PeerScore } from '../decisions/peer-score.ts';
import { type LookedPeer, lookAtPosition, unknownPeer } from '../looking/key-look.ts';
import type { Neighbour } from '../neighbour-port.ts';
import { type PeerReport, untilOf } from '../peer-report.ts';
import { DIGEST_PATH } from './digest-answer.ts';

export interface SquidLinkOptions {
  readonly clock: Clock;
  /** Connections to Squids, which no other traffic uses. */
  readonly client: Pick<OriginClient, 'fetch'>;
  /** The Via field of this node. */
  readonly via: () => string;
  /** Bound for the digest of this Squid. */
  readonly limitBytes: number;
  readonly event: (level: 'info' | 'warn', name: string, fields: Record<string, unknown>) => void;
}

const MOST_DIGEST_BYTES = 16 * 1024 * 1024;
/** The longest time for a fetch, from the question to the last byte. */
const FETCH_MS = 60_000;

/** Bytes before the mask of a digest. */
const HEADER_BYTES = 128;

export class SquidLink implements Neighbour {
  /** Squids have no name and no secret in the fleet. */
  readonly id = null;
  readonly keyId = null;
  readonly address: string;
  readonly score = new PeerScore();
  objectBytes = 0;
  readonly #options: SquidLinkOptions;
  #digest: SquidDigest | null = null;
  /** The reason why there is no digest. */
  #problem = 'no digest yet';
  #failures = 0;
  #digestBytes = 0;
  /** The time of the last digest, by the monotonic clock. */
  #heardAt: number | null = null;
  #fetch: SourceFetch | null = null;
  #cancel: Cancel = () => {};
  #isClosed = false;
  /** Bytes of the last digest, or null before the first. */
  #lastBytes: number | null = null;
  /** Time of the next fetch. */
  #nextAt = 0;

  constructor(address: string, options: SquidLinkOptions) {
    this.address = address;
    this.#options = options;
  }

  /** Fetches the digest, now and whenever it has expired. */
  start(): void {
    const { client, clock, via } = this.#options;
    const { origin, host } = new URL(this.address);
    const body: Buffer[] = [];
    let came = 0;
    let head: ResponseHead | null = null;
    let length = 0;
    let isOver = false;
    const end = (problem: string | null): void => {
      if (isOver) return;
      isOver = true;
      cancelDeadline();
      this.#fetch?.abort();
      this.#fetch = null;
      if (problem === null) this.#take(Buffer.concat(body), head!);
      else this.#fail(problem);
    };
    const cancelDeadline = clock.after(FETCH_MS, () => end('its digest took too long'));
    this.#fetch = client.fetch(
      {
        method: 'GET',
        headers: ['Accept', 'application/cache-digest', 'Via', via()],
        body: null,
        origin,
        trusted: true,
        path: DIGEST_PATH,
        host,
      },
      {
        onHead: (got) => {
          head = got;
          length = Number(/^\d{1,10}$/.exec(fieldValue(got.headers, 'content-length') ?? '')?.[0] ?? -1);
          if (got.status !== 200) end(`it answered ${got.status} when asked for its digest`);
          else if (length < 0) end('its digest has no length');
          else if (length > this.#mostBytes) end(`its digest has ${length} bytes, of ${this.#mostBytes}`);
        },
        onData: (chunk) => {
          if (isOver) return;
          came += chunk.length;
          body.push(chunk);
          if (came > length) end('its digest is longer than it says');
        },
        onEnd: () => end(came === length ? null : 'its digest is shorter than it says'),
        onError: ({ code }) => end(`no connection (${code})`),
      },
    );
  }

  /** Whether the digest says "maybe" for a key of `squidKey`. */
  has(key: Uint8Array): boolean {
    return this.#digest?.has(key) === true;
  }

  /** A look at a key of `squidKey`, for people: its four bits, and those around them. */
  look(key: Uint8Array): LookedPeer {
    const { clock } = this.#options;
    const peer = { address: this.address, id: null };
    const digest = this.#digest;
    if (digest === null) return unknownPeer(peer, this.masked);
    const mask = digest.encode().subarray(HEADER_BYTES);
    const words = new DataView(key.buffer, key.byteOffset);
    const isSet = (at: number) => ((mask[at >>> 3] as number) & (1 << (at & 7))) !== 0;
    const positions = [0, 4, 8, 12].map((at) =>
      lookAtPosition(words.getUint32(at) % digest.bits, digest.bits, isSet),
    );
    return {
      ...peer,
      answer: positions.every((position) => position.isSet) ? 'maybe' : 'no',
      why: this.masked ?? this.score.doubt(clock.monotonic()),
      universe: digest.bits,
      positions,
      falsePositiveRate: digest.estimatedFalsePositiveRate(),
    };
  }

  /** The reason why this Squid is not asked, or null if it is. */
  get masked(): string | null {
    return this.#digest === null ? this.#problem : null;
  }

  report(): PeerReport {
    const { score } = this;
    const { latencies, guesses, troubles } = score;
    const { clock } = this.#options;
    const now = clock.monotonic();
    const digest = this.#digest;
    return {
      address: this.address,
      id: null,
      state: digest === null ? 'down' : 'up',
      masked: this.masked ?? score.doubt(now),
      objects: digest === null ? 0 : Math.round(digest.estimatedSize()),
      generation: null,
      falsePositiveRate: digest?.estimatedFalsePositiveRate() ?? 0,
      keys: [],
      silentMs: this.#heardAt === null ? null : now - this.#heardAt,
      summaryBytes: this.#digestBytes,
      memoryBytes: digest?.byteLength ?? 0,
      trueHits: guesses.trueHits,
      falseHits: guesses.falseHits,
      trueMisses: guesses.trueMisses,
      falseMisses: guesses.falseMisses,
      failures: troubles.failed + troubles.late + troubles.broken,
      late: troubles.late,
      latencyMs:
        latencies.count === 0 ? null : { median: latencies.quantileMs(0.5), p95: latencies.quantileMs(0.95) },
      forged: score.forged,
      source: 'settings',
      dnsName: null,
      objectBytes: this.objectBytes,
      kind: 'squid',
      group: null,
      isLeader: false,
      summaryAt: this.#heardAt === null ? null : clock.now() - (now - this.#heardAt),
      fullBytes: this.#lastBytes,
      deltaBytes: null,
      universe: digest?.bits ?? null,
      maskedUntil: untilOf(digest === null ? this.#nextAt - now : score.waitMs(now), clock.now()),
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
    this.#fetch?.abort();
  }

  get #mostBytes(): number {
    return Math.min(MOST_DIGEST_BYTES, this.#options.limitBytes);
  }

  #take(bytes: Uint8Array, { headers }: ResponseHead): void {
    const { clock, event } = this.#options;
    let digest: SquidDigest;
    try {
      digest = SquidDigest.decode(bytes, { maxBytes: this.#mostBytes });
    } catch (error) {
      this.#fail(`its digest cannot be read: ${(error as Error).message}`);
      return;
    }
    if (!digest.useful) {
      this.#fail(`its digest has ${digest.onesCount()} ones in ${digest.bits} bits, above 65 %`);
      return;
    }
    const isNews = this.#digest === null;
    if (isNews) this.score.comeBack();
    this.#digest = digest;
    this.#failures = 0;
    this.#digestBytes += bytes.length;
    this.#lastBytes = bytes.length;
    this.#heardAt = clock.monotonic();
    const expires = parseHttpDate(fieldValue(headers, 'expires') ?? '', clock.now());
    const nextMs = nextDigestMs(expires === null ? null : expires - clock.now(), clock.random());
    this.#again(nextMs);
    if (isNews)
      event('info', 'squid-digest', {
        squid: this.address,
        objects: Math.round(digest.estimatedSize()),
        bytes: bytes.length,
        nextMs,
      });
  }

  #fail(problem: string): void {
    const { clock, event } = this.#options;
    if (this.#isClosed) return;
    const isNews = this.#digest !== null || problem !== this.#problem;
    this.#digest = null;
    this.#problem = problem;
    const retryMs = retryDigestMs(++this.#failures, clock.random());
    this.#again(retryMs);
    if (isNews) event('warn', 'squid-not-asked', { squid: this.address, problem, retryMs });
  }

  #again(ms: number): void {
    this.#nextAt = this.#options.clock.monotonic() + ms;
    if (!this.#isClosed) this.#cancel = this.#options.clock.after(ms, () => this.start());
  }
}
