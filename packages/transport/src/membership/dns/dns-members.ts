/**
 * The members that a name in the DNS lists, kept current:
 *
 *     ask ──answer──► wait for its TTL, 5 s to 5 min ──► ask
 *       └──failure──► keep the last answer, wait 1 s, 2 s, … 1 min ──► ask
 *
 * - **Addresses** (A and AAAA): one member for each, with the port of the settings. The answer is
 *   asked for again when its shortest TTL ends. The bounds protect the server from records with a
 *   TTL of 0, and the fleet from a TTL of a day.
 * - **A service** (SRV): one member for each target and port, under the target's first address.
 *   Node tells no TTL of SRV records, so they are asked for every 30 s. Priorities and weights are
 *   for clients that need one server; a fleet needs all of them. With https the member's address
 *   has the target's name, because that is what a certificate names.
 *
 * A look-up that fails, or brings nothing, changes nothing (host-lookup.ts). It is logged when the
 * failure begins and when it ends, not at each attempt.
 *
 * This node is among the answers. `isOwn` recognises it by its addresses. If it does not, because
 * an address is translated on the way, the transport finds out by the hello (state `self`).
 *
 * Limits: 1,024 members. Records beyond the limit are dropped before anything is built from them,
 * and at most 16 targets of a service are looked up at a time.
 */

import type { Cancel, Clock } from '../../clock.ts';
import { Backoff } from '../../link/backoff.ts';
import { MemberList } from '../member-list.ts';
import { type Member, type MemberSource, type MembershipChange, MOST_MEMBERS } from '../member-source.ts';
import { type DnsName, formatDnsName } from './dns-name.ts';
import { codeOf, HostLookup } from './host-lookup.ts';
import { isNoRecords, type NameResolver, type ServiceRecord } from './name-resolver.ts';

export interface DnsMembersOptions {
  readonly name: DnsName;
  /** The port of members whose name has none. */
  readonly port: number;
  readonly resolver: NameResolver;
  readonly clock: Clock;
  /** Whether an address, `http://10.0.0.2:3129`, is one of this node. */
  readonly isOwn: (address: string) => boolean;
  readonly event: (level: 'info' | 'warn', name: string, fields: Record<string, unknown>) => void;
  /** The most members. Default 1,024. */
  readonly most?: number | undefined;
}

/** The state of the look-ups, for an operator. */
export interface DnsReport {
  readonly name: string;
  readonly members: number;
  /** Time since the last look-up that brought an answer, or null before the first. */
  readonly answeredMs: number | null;
  readonly lookups: number;
  readonly failures: number;
  /** The reason why the last look-up failed, or null if it did not. */
  readonly problem: string | null;
}

const LEAST_REFRESH_MS = 5000;
const MOST_REFRESH_MS = 300_000;
const SERVICE_REFRESH_MS = 30_000;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
/** Targets of a service that are looked up at a time. */
const AT_A_TIME = 16;
/** RFC 2782: 'A Target of "." means that the service is decidedly not available at this domain.' */
const NO_TARGET = /^\.?$/;

/** The members that came, and how long they may be kept. */
interface Answer {
  readonly members: readonly Omit<Member, 'source'>[];
  readonly refreshMs: number;
  readonly problem: string | null;
}

export class DnsMembers implements MemberSource {
  readonly #options: DnsMembersOptions;
  readonly #text: string;
  readonly #most: number;
  readonly #list: MemberList;
  readonly #backoff: Backoff;
  /** The look-ups of the hosts, which keep their last answers. */
  readonly #hosts = new Map<string, HostLookup>();
  #stopTimer: Cancel;
  #isClosed = false;
  #answeredAt: number | null = null;
  #lookups = 0;
  #failures = 0;
  #problem: string | null = null;
  #hasTooMany = false;

  constructor(options: DnsMembersOptions) {
    const { clock, name, most = MOST_MEMBERS } = options;
    this.#options = options;
    this.#text = formatDnsName(name);
    this.#most = most;
    this.#list = new MemberList(most);
    this.#backoff = new Backoff(clock, { firstMs: FIRST_PAUSE_MS, mostMs: LONGEST_PAUSE_MS });
    this.#stopTimer = clock.after(0, () => void this.#refresh());
  }

  members(): readonly Member[] {
    return this.#list.all();
  }

  watch(listener: (change: MembershipChange) => void): Cancel {
    return this.#list.watch(listener);
  }

  close(): void {
    this.#isClosed = true;
    this.#stopTimer();
    this.#options.resolver.cancel();
  }

  report(): DnsReport {
    return {
      name: this.#text,
      members: this.#list.all().length,
      answeredMs: this.#answeredAt === null ? null : this.#options.clock.monotonic() - this.#answeredAt,
      lookups: this.#lookups,
      failures: this.#failures,
      problem: this.#problem,
    };
  }

  async #refresh(): Promise<void> {
    const { name, clock, isOwn } = this.#options;
    this.#lookups++;
    const answer = name.isService ? await this.#askService() : await this.#askAddresses();
    if (this.#isClosed) return;
    let pauseMs = answer.refreshMs;
    if (answer.problem === null) {
      this.#backoff.reset();
      this.#answeredAt = clock.monotonic();
    } else {
      this.#failures++;
      pauseMs = this.#backoff.nextMs();
    }
    this.#tellProblem(answer.problem, pauseMs);
    if (answer.problem === null) {
      const source = `dns ${name.host}`;
      const others = answer.members.filter(({ address }) => !isOwn(address));
      this.#tellTooMany(this.#list.replace(others.map((member) => ({ ...member, source }))));
    }
    this.#stopTimer = clock.after(pauseMs, () => void this.#refresh());
  }

  async #askAddresses(): Promise<Answer> {
    const { name, port } = this.#options;
    // One address of each kind more than the limit shows that there are too many.
    const { addresses, ttl, problem } = await this.#host(name.host, this.#most + 1).ask();
    return {
      members: addresses.map((address) => ({ address: this.#url(address, name.port ?? port), name: null })),
      refreshMs: Math.min(MOST_REFRESH_MS, Math.max(LEAST_REFRESH_MS, 1000 * ttl)),
      problem,
    };
  }

  async #askService(): Promise<Answer> {
    const { name, resolver } = this.#options;
    const failed = (problem: string) => ({ members: [], refreshMs: SERVICE_REFRESH_MS, problem });
    let records: readonly ServiceRecord[];
    try {
      records = await resolver.resolveSrv(name.host);
    } catch (error) {
      return failed(isNoRecords(error) ? 'no service records' : codeOf(error));
    }
    const known = new Set(records.map((record) => record.name));
    for (const host of this.#hosts.keys()) if (!known.has(host)) this.#hosts.delete(host);
    const wanted = inOrder(records).slice(0, this.#most + 1);
    const members: Answer['members'][number][] = [];
    for (let at = 0; at < wanted.length && !this.#isClosed; at += AT_A_TIME) {
      const found = await Promise.all(
        wanted.slice(at, at + AT_A_TIME).map((record) => this.#memberOf(record)),
      );
      for (const member of found) if (member !== null) members.push(member);
    }
    return members.length === 0
      ? failed('no addresses')
      : { members, refreshMs: SERVICE_REFRESH_MS, problem: null };
  }

  /** The member behind a record, or null if its target has no address and never had one. */
  async #memberOf({ name, port }: ServiceRecord): Promise<Answer['members'][number] | null> {
    if (this.#options.name.scheme === 'https') return { address: this.#url(name, port), name };
    const { addresses } = await this.#host(name, 1).ask();
    return addresses.length === 0 ? null : { address: this.#url(addresses[0]!, port), name };
  }

  #host(host: string, most: number): HostLookup {
    let lookup = this.#hosts.get(host);
    if (lookup === undefined)
      this.#hosts.set(host, (lookup = new HostLookup(host, this.#options.resolver, most)));
    return lookup;
  }

  #url(host: string, port: number): string {
    return `${this.#options.name.scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  }

  #tellProblem(problem: string | null, retryMs: number): void {
    const { event } = this.#options;
    const before = this.#problem;
    this.#problem = problem;
    const members = this.#list.all().length;
    if (problem !== null && before !== problem)
      event('warn', 'dns-failed', {
        name: this.#text,
        problem,
        kept: members,
        retryMs: Math.round(retryMs),
      });
    if (problem === null && before !== null) event('info', 'dns-answers', { name: this.#text });
  }

  #tellTooMany(leftOut: number): void {
    const { event } = this.#options;
    if (leftOut > 0 && !this.#hasTooMany)
      event('warn', 'dns-too-many', { name: this.#text, most: this.#most, leftOut });
    this.#hasTooMany = leftOut > 0;
  }
}

/** The records without those that name no host, each once, in an order that does not change. */
function inOrder(records: readonly ServiceRecord[]): ServiceRecord[] {
  const named = records.filter(({ name, port }) => !NO_TARGET.test(name) && port > 0);
  const each = new Map(named.map((record) => [`${record.name}:${record.port}`, record]));
  return [...each].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, record]) => record);
}
