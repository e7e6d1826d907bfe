/**
 * The Squids of a node as neighbours in its plans: each miss is looked up in their digests, and a
 * Squid that may hold the object is asked before the origin.
 *
 * A Squid comes after the neighbours of the fleet, because their bytes are proven and those of a
 * Squid are not. So it gets a place in a plan that has fewer than two questions, and the part of
 * the budget that these leave. It is no owner of keys, is not asked for the rest of a body, and
 * never about a request with Authorization or Cookie or a URL that looks like a secret.
 *
 * The same scores and the same choice as in a fleet say which Squid is asked and for how long
 * (`decisions/peer-score.ts`, `decisions/peer-choice.ts`). With workers, each has its own digests
 * and scores.
 */

import type { Clock } from '@bloomery/transport';
import { squidKey } from 'bloomery/formats/squid';
import { fieldValue } from '../../policy/fields.ts';
import type { RequestHead } from '../../policy/message-head.ts';
import { choosePeers, describePlan } from '../decisions/peer-choice.ts';
import { askWhether, type Truth } from '../looking/ask-whether.ts';
import type { LookedPeer } from '../looking/key-look.ts';
import type { AskListener } from '../neighbour-ask.ts';
import type { Neighbour, NeighbourPlan, NeighbourPort, NeighbourReport } from '../neighbour-port.ts';
import type { PeerReport } from '../peer-report.ts';
import { SquidAsk, type SquidAskTools } from './squid-ask.ts';
import { SquidLink, type SquidLinkOptions } from './squid-link.ts';

export interface SquidNeighboursOptions
  extends Omit<SquidLinkOptions, 'limitBytes'>,
    Omit<SquidAskTools, 'report'> {
  readonly addresses: readonly string[];
  readonly clock: Clock;
  /** Time for the neighbours of all kinds together. */
  readonly budgetMs: number;
  /** Bound for all digests. */
  readonly memoryBytes: number;
  /** Whether a key may be named to a neighbour. */
  readonly mayName: (key: string) => boolean;
}

const MOST_ASKS = 2;
/**
 * A Squid answers most questions from its memory in a few milliseconds, and the others from its
 * disk. With the 20 ms of the fleet, a Squid that reads three objects from a busy disk would count
 * as failing, and would not be asked for a while.
 */
const LEAST_DEADLINE_MS = 100;
const ALONE: NeighbourPlan = { asks: [], candidates: [], afterwards: 'origin' };

export class SquidNeighbours {
  readonly #options: SquidNeighboursOptions;
  readonly #links: ReadonlyMap<string, SquidLink>;

  constructor(options: SquidNeighboursOptions) {
    this.#options = options;
    const { addresses, memoryBytes } = options;
    const limitBytes = Math.floor(memoryBytes / addresses.length);
    this.#links = new Map(
      addresses.map((address) => [address, new SquidLink(address, { ...options, limitBytes })]),
    );
  }

  start(): void {
    for (const link of this.#links.values()) link.start();
  }

  close(): void {
    for (const link of this.#links.values()) link.close();
  }

  reports(): PeerReport[] {
    return [...this.#links.values()].map((link) => link.report());
  }

  /** A look at a key in the digests of all Squids, for people. */
  look(key: string): LookedPeer[] {
    const hashed = squidKey(key);
    return [...this.#links.values()].map((link) => link.look(hashed));
  }

  /** Whether a key may be named to a Squid. */
  mayName(key: string): boolean {
    return this.#options.mayName(key);
  }

  /** Asks a Squid whether it has an object, or null if the address is none. No score changes. */
  askWhether(address: string, key: string): Promise<Truth> | null {
    const { clock, budgetMs } = this.#options;
    if (!this.#links.has(address)) return null;
    const tools = { ...this.#options, report: () => {} };
    const request = { method: 'GET', key, headers: [] };
    return askWhether(
      clock,
      budgetMs,
      (listener) => new SquidAsk(tools, { id: null, address, keyId: null }, request, listener),
    );
  }

  /** The neighbours of a node: those of its fleet, or null if it has none, and its Squids. */
  beside(fleet: NeighbourPort | null): NeighbourPort {
    return {
      plan: (request, again) => {
        const plan = fleet?.plan(request, again) ?? ALONE;
        const add = (made: NeighbourPlan) => this.#extend(made, request, fleet !== null, again === true);
        return plan instanceof Promise ? plan.then(add) : add(plan);
      },
      askOwner: async (key, lost) => (fleet === null ? null : fleet.askOwner(key, lost)),
      find: (node) => fleet?.find(node) ?? null,
      report: (report) => {
        if (this.#links.has(report.neighbour.address)) this.#note(report);
        else fleet?.report(report);
      },
    };
  }

  /** A question to a Squid, or null if the neighbour is none. */
  newAsk(neighbour: Neighbour, request: RequestHead, listener: AskListener): SquidAsk | null {
    if (!this.#links.has(neighbour.address)) return null;
    const tools = { ...this.#options, report: (report: NeighbourReport) => this.#note(report) };
    return new SquidAsk(tools, neighbour, request, listener);
  }

  /** The plan with the Squids that may hold the object. */
  #extend(plan: NeighbourPlan, request: RequestHead, hasFleet: boolean, again: boolean): NeighbourPlan {
    const { clock, budgetMs, mayName } = this.#options;
    if (again || isPersonal(request) || !mayName(request.key)) return plan;
    const key = squidKey(request.key);
    const found: SquidLink[] = [];
    for (const link of this.#links.values()) {
      if (link.score.distrustedMs(clock.monotonic()) > 0) continue;
      if (link.has(key)) found.push(link);
      else if (link.masked === null) link.score.countMiss();
    }
    const usedMs = plan.asks.reduce((sum, { headDeadlineMs }) => sum + headDeadlineMs, 0);
    const own = choosePeers({
      candidates: found.map(({ address, score, masked }) => ({ peer: address, score, masked })),
      shareable: true,
      hasOwner: plan.afterwards === 'owner',
      budgetMs: Math.max(0, budgetMs - usedMs),
      mayHedge: false,
      mostAsks: MOST_ASKS - plan.asks.length,
      leastDeadlineMs: LEAST_DEADLINE_MS,
      now: clock.monotonic(),
      draw: clock.random(),
    });
    const asks = own.asks.map(({ peer, ...ask }) => ({ ...ask, neighbour: plain(this.#links.get(peer)!) }));
    const why = hasFleet ? `${plan.why ?? ''}; Squids: ${describePlan(own)}` : describePlan(own);
    return {
      ...plan,
      asks: [...plan.asks, ...asks],
      candidates: [...(plan.candidates ?? []), ...found.map(({ address }) => address)],
      why,
    };
  }

  #note(report: NeighbourReport): void {
    const link = this.#links.get(report.neighbour.address);
    if (link === undefined) return;
    const { score } = link;
    const now = this.#options.clock.monotonic();
    if (report.kind === 'forged') {
      score.distrust(now);
      const forMs = score.distrustedMs(now);
      this.#options.event('warn', 'peer-distrusted', { peer: link.address, id: null, forMs });
    } else if (report.kind === 'asked') score.begin();
    else if (report.kind === 'answered') {
      const end = report.end === 'waits' ? 'cancelled' : report.end;
      score.end(end, { guessed: true, waitedMs: report.ms, now });
    } else if (report.kind === 'body') {
      link.objectBytes += report.bytes;
      if (report.end === 'whole' || report.end === 'cancelled') score.finish({ guessed: true });
      else score.breakOff({ now, isDamaged: report.end === 'damaged' });
    }
  }
}

function isPersonal({ headers }: RequestHead): boolean {
  return fieldValue(headers, 'authorization') !== undefined || fieldValue(headers, 'cookie') !== undefined;
}

function plain({ id, address, keyId }: Neighbour): Neighbour {
  return { id, address, keyId };
}
