/**
 * The neighbours of a node, all in one: their links and summaries, the choice at a miss, and the
 * memory of this node as an owner of keys. It is the directory behind the port that a fetch from
 * neighbours uses (neighbour-port.ts), and knows keys by their hash only.
 *
 * The decisions are pure and in other files (`decisions/`). This file gives them what they need to
 * know: the candidates of a key, the scores, the time, randomness.
 *
 * Neighbours come and go while the node runs, as the transport tells. When one has left, its link
 * and its columns of the table are dropped. Bad experience with it is remembered, so that it does
 * not get rid of that by leaving and joining again (left-scores.ts).
 *
 * Owners. The owner of a key is the first in rendezvous order among the nodes that are up in this
 * node's view, itself included. Views may differ for a while. Then a key has two owners, and is
 * fetched twice; nothing else happens.
 */

import type { Cancel, Clock, FleetKeyring, Peer, PeerState, Transport } from '@bloomery/transport';
import { rendezvousOrder } from '@bloomery/transport';
import { HedgeBudget } from './decisions/hedge-budget.ts';
import { LeftScores } from './decisions/left-scores.ts';
import { ownerKey } from './decisions/owner-key.ts';
import {
  decodeAnswer,
  decodeQuestion,
  encodeAnswer,
  encodeQuestion,
  type HashHalves,
  type OwnerQuestion,
  type OwnerAnswer as TrackerAnswer,
} from './decisions/owner-question.ts';
import { OwnerTracker } from './decisions/owner-tracker.ts';
import { choosePeers, describePlan, ownerDeadlineMs } from './decisions/peer-choice.ts';
import { type AskEnd, PeerScore } from './decisions/peer-score.ts';
import { type KeyLook, lookAtSummary, unknownPeer } from './looking/key-look.ts';
import { NeighbourLink } from './neighbour-link.ts';
import type {
  GiveUp,
  KeyedHash,
  Neighbour,
  NeighbourDirectory,
  NeighbourPlan,
  NeighbourReport,
  OwnerWord,
  PlannedQuestion,
} from './neighbour-port.ts';
import { NeighbourSummaries, type SummaryMember, type SummaryPositions } from './neighbour-summaries.ts';
import type { SummaryVersion } from './objects/object-response.ts';
import { generationName, keyName, type NeighbourTotals, type PeerReport, untilOf } from './peer-report.ts';
import { SlicedWork } from './sliced-work.ts';

/** The topic of questions to the owner of a key. */
const OWNER_TOPIC = 'owner';

/** Bytes that a position of a neighbour's summary takes, at least. */
const LEAST_BYTES_PER_POSITION = 5;

/** Candidates that are looked for: the choice asks two, and many of them may be masked. */
const MOST_CANDIDATES = 256;

export interface PeerHubOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly keyring: FleetKeyring;
  readonly budgetMs: number;
  /** Bound for the summaries of all neighbours. */
  readonly memoryBytes: number;
  readonly event: (level: 'info' | 'warn', name: string, fields: Record<string, unknown>) => void;
  /** Another way to follow neighbours. Default: one `NeighbourLink` each, and their own table. */
  readonly following?: HubFollowing | undefined;
  /** The other groups of the fleet, or undefined if the node is in no group. */
  readonly groups?: OtherGroups | undefined;
}

/** The way to nodes of other groups, whose summaries this node does not follow. */
export interface OtherGroups {
  /** The owners of a key in another group. Empty if this group owns it, or if none can be asked. */
  owners(hashes: readonly KeyedHash[]): readonly PlannedQuestion[];
  find(node: string): Neighbour | null;
  /** The nodes that `find` finds. */
  readonly live: readonly Neighbour[];
  report(report: NeighbourReport): void;
}

/**
 * The way in which a hub follows the summaries of its neighbours. A simulation of 256 nodes in one
 * process gives one that all nodes share, because each summary is the same for all of them.
 */
export interface HubFollowing {
  readonly summaries: Pick<NeighbourSummaries, 'candidates' | 'bytesOf' | 'byteLength'>;
  link(peer: Peer, score: PeerScore): HubLink;
}

/** One neighbour as the hub uses it; see neighbour-link.ts. */
export interface HubLink extends Neighbour {
  readonly score: PeerScore;
  readonly state: PeerState;
  readonly masked: string | null;
  readonly keys: readonly number[];
  readonly followers: readonly SummaryMember[];
  generationOf(keyId: number): SummaryVersion | null;
  readonly silentMs: number | null;
  readonly summaryBytes: number;
  objectBytes: number;
  changed(peer: Peer): void;
  keysChanged(): void;
  catchUp(): void;
  close(): void;
}

export class PeerHub implements NeighbourDirectory {
  readonly work: SlicedWork;
  readonly #options: PeerHubOptions;
  readonly #following: HubFollowing;
  readonly #links = new Map<string, HubLink>();
  readonly #left = new LeftScores();
  readonly #tracker: OwnerTracker;
  readonly #hedges = new HedgeBudget();
  readonly #cancels: Cancel[] = [];
  #ownerQuestions = 0;
  /** The counts of neighbours that are gone. */
  #gone: NeighbourTotals = { summaryBytes: 0, trueHits: 0, falseHits: 0 };

  constructor(options: PeerHubOptions) {
    const { transport, clock, keyring } = options;
    this.#options = options;
    this.work = new SlicedWork(clock);
    this.#tracker = new OwnerTracker();
    this.#following = options.following ?? this.#ownFollowing();
    for (const peer of transport.peers()) this.#add(peer);
    this.#cancels.push(
      transport.watchPeers((peer) => this.#peerChanged(peer)),
      keyring.watch(() => {
        for (const link of this.#links.values()) link.keysChanged();
      }),
      transport.serve(OWNER_TOPIC, (body, from) => this.#answerAsOwner(body, from)),
    );
  }

  close(): void {
    for (const cancel of this.#cancels) cancel();
    for (const link of this.#links.values()) link.close();
    this.work.close();
  }

  plan(hashes: readonly KeyedHash[], again = false): NeighbourPlan {
    const { clock, budgetMs, groups } = this.#options;
    const beyond = again ? [] : (groups?.owners(hashes) ?? []);
    const now = clock.monotonic();
    const found = this.#candidates(hashes);
    let up = 0;
    for (const link of this.#links.values()) {
      if (link.state === 'up') up++;
      if (!again && link.masked === null && !found.has(link)) link.score.countMiss();
    }
    const plan = choosePeers({
      candidates: [...found].map(({ address, score, masked }) => ({ peer: address, score, masked })),
      shareable: true,
      hasOwner: up > 0 || beyond.length > 0,
      budgetMs,
      mayHedge: this.#hedges.mayHedge,
      now,
      draw: clock.random(),
    });
    return {
      asks: plan.asks.map(({ peer, headDeadlineMs, hedgeAfterMs }) => ({
        neighbour: this.#links.get(peer)!,
        headDeadlineMs,
        hedgeAfterMs,
      })),
      candidates: plan.why.map(({ peer }) => peer),
      afterwards: plan.afterwards,
      ...(beyond.length === 0 ? {} : { beyond }),
      why: describePlan(
        plan,
        beyond.map(({ neighbour }) => neighbour.address),
      ),
    };
  }

  async askOwner(hashes: readonly KeyedHash[], lost: string | null): Promise<OwnerWord> {
    const hash = this.#hashForOwner(hashes);
    const { keyId } = hash;
    const owners = this.#ownersOf(hash);
    const question: OwnerQuestion =
      lost === null ? { kind: 'want', hash } : { kind: 'lost', hash, source: lost };
    // An owner that has just died is not known to be down. All nodes then ask the next one.
    for (const [place, owner] of owners.entries()) {
      const word = await this.#put(owner, question, ownerDeadlineMs(this.#options.budgetMs, place));
      if (word !== null)
        return { owner, keyId, answer: word.kind === 'ask' ? (this.find(word.node) ?? 'fetch') : 'fetch' };
    }
    return { owner: owners[0], keyId, answer: null };
  }

  done(owner: string, hash: HashHalves): void {
    void this.#put(owner, { kind: 'done', hash });
  }

  gaveUp(owner: string, hash: HashHalves, why: GiveUp): void {
    void this.#put(owner, { kind: why, hash });
  }

  find(node: string): Neighbour | null {
    for (const link of this.#links.values()) if (link.id === node && this.#isAsked(link)) return link;
    return this.#options.groups?.find(node) ?? null;
  }

  /** The neighbours that `find` finds. */
  get live(): readonly Neighbour[] {
    const own = [...this.#links.values()].filter((link) => link.id !== null && this.#isAsked(link));
    return [...own, ...(this.#options.groups?.live ?? [])];
  }

  report(report: NeighbourReport): void {
    const link = this.#links.get(report.neighbour.address);
    if (link === undefined) {
      this.#options.groups?.report(report);
      return;
    }
    const now = this.#options.clock.monotonic();
    const { score } = link;
    if (report.kind === 'hedged') this.#hedges.spend();
    else if (report.kind === 'forged') {
      score.distrust(now);
      const forMs = score.distrustedMs(now);
      this.#options.event('warn', 'peer-distrusted', { peer: link.address, id: link.id, forMs });
    } else if (report.kind === 'asked') {
      score.begin();
      this.#hedges.earn();
    } else if (report.kind === 'answered') {
      const guessed = report.ask === 'stored';
      const isNewer = report.end === 'refused' && isLater(report.summary, link.generationOf(report.keyId));
      const end: AskEnd = report.end === 'waits' ? 'cancelled' : isNewer ? 'refused-newer' : report.end;
      if (report.isFalseMiss && link.masked === null) score.contradictMiss();
      score.end(end, { guessed, waitedMs: report.ms, now });
      if (isNewer) link.catchUp();
    } else {
      link.objectBytes += report.bytes;
      if (report.end === 'whole' || report.end === 'cancelled')
        score.finish({ guessed: report.ask === 'stored' });
      else score.breakOff({ now, isDamaged: report.end === 'damaged' });
    }
  }

  /** A look at the summaries for people. It changes no counts. */
  look(hashes: readonly KeyedHash[]): KeyLook {
    const { groups } = this.#options;
    const now = this.#options.clock.monotonic();
    const peers = [...this.#links.values()].map((link) => {
      const looks = link.followers.flatMap(({ keyId, positions }) => {
        const hash = hashes.find((each) => each.keyId === keyId);
        const why = link.masked ?? link.score.doubt(now);
        return hash === undefined ? [] : [lookAtSummary(plain(link), positions, hash, why)];
      });
      // Two summaries while the operator changes the secret: one "maybe" is enough.
      return (
        looks.find(({ answer }) => answer === 'maybe') ??
        looks.find(({ answer }) => answer === 'no') ??
        unknownPeer(plain(link), link.masked)
      );
    });
    const beyond = groups?.owners(hashes) ?? [];
    const [owner] = beyond.length > 0 ? [] : this.#ownersOf(this.#hashForOwner(hashes));
    const order = this.plan(hashes, true).asks.map(({ neighbour }) => neighbour.address);
    return {
      owner: beyond[0]?.neighbour.address ?? this.#addressOf(owner ?? ''),
      isOwner: owner === this.#options.transport.self.id,
      peers,
      order: [...order, ...beyond.map(({ neighbour }) => neighbour.address)],
    };
  }

  /** The address of a node by its id; the id itself for this node. */
  #addressOf(id: string): string | null {
    if (id === this.#options.transport.self.id) return id;
    for (const link of this.#links.values()) if (link.id === id) return link.address;
    return null;
  }

  /** The neighbours; the caller knows where their addresses come from. */
  peerReports(): Omit<PeerReport, 'source' | 'dnsName'>[] {
    const now = this.#options.clock.monotonic();
    // A link learns only of changes of its state. The reason changes more often, with each attempt,
    // so it is read from the transport.
    const known = new Map(this.#options.transport.peers().map((peer) => [peer.address, peer]));
    const wallMs = this.#options.clock.now();
    return [...this.#links.values()].map((link) => {
      const { score, followers } = link;
      const masked = (link.state === 'down' ? known.get(link.address)?.why : null) ?? link.masked;
      const { latencies, guesses, troubles } = score;
      const doubt = score.doubt(now);
      const { arrival, positions } = followers.find((each) => each.positions !== null) ?? followers[0]!;
      return {
        address: link.address,
        id: link.id,
        state: link.state,
        masked: score.distrustedMs(now) > 0 ? doubt : (masked ?? doubt),
        objects: Math.max(...followers.map(({ positions }) => positions?.size ?? 0)),
        generation: generationName(link.generationOf(followers[0]!.keyId)),
        falsePositiveRate: sumOf(followers.map(({ positions }) => rateOf(positions))),
        keys: followers.map(({ keyId, positions }) => ({
          id: keyName(keyId),
          isUsed: keyId === link.keyId,
          isShared: link.keys.includes(keyId),
          objects: positions?.size ?? null,
        })),
        silentMs: link.silentMs,
        summaryBytes: link.summaryBytes,
        memoryBytes: sumOf(followers.map((follower) => this.#summaries.bytesOf(follower))),
        trueHits: guesses.trueHits,
        falseHits: guesses.falseHits,
        trueMisses: guesses.trueMisses,
        falseMisses: guesses.falseMisses,
        failures: troubles.failed + troubles.late + troubles.broken,
        late: troubles.late,
        forged: score.forged,
        latencyMs:
          latencies.count === 0
            ? null
            : { median: latencies.quantileMs(0.5), p95: latencies.quantileMs(0.95) },
        objectBytes: link.objectBytes,
        kind: 'bloomery',
        group: known.get(link.address)?.group ?? null,
        isLeader: false,
        summaryAt: arrival?.currentAt ?? null,
        fullBytes: arrival?.fullBytes ?? null,
        deltaBytes: arrival?.deltaBytes ?? null,
        universe: positions?.universe ?? null,
        maskedUntil: masked === null ? untilOf(score.waitMs(now), wallMs) : (arrival?.retryAt ?? null),
      };
    });
  }

  /** Counts over all neighbours, including those that have left. */
  get totals(): NeighbourTotals {
    let totals = this.#gone;
    for (const link of this.#links.values()) totals = withLink(totals, link);
    return totals;
  }

  /** Messages to owners of keys that are other nodes. Each gets an answer, unless one is lost. */
  get ownerQuestions(): number {
    return this.#ownerQuestions;
  }

  /** Memory of all summaries. */
  get summaryMemoryBytes(): number {
    return this.#summaries.byteLength;
  }

  get #summaries(): HubFollowing['summaries'] {
    return this.#following.summaries;
  }

  #ownFollowing(): HubFollowing {
    const { transport, clock, keyring, memoryBytes, event } = this.#options;
    const { work } = this;
    const summaries = new NeighbourSummaries({
      limitBytes: memoryBytes,
      work,
      failed: (error) => event('warn', 'summary-table', { problem: error }),
    });
    const keyIds = () => keyring.all.map(({ id }) => id);
    const maxPositions = Math.floor(memoryBytes / LEAST_BYTES_PER_POSITION);
    const parts = { transport, clock, work, summaries, keyIds, maxPositions, event };
    return { summaries, link: (peer, score) => new NeighbourLink(peer, parts, score) };
  }

  /** Whether a neighbour may be asked at all. */
  #isAsked({ state, score }: HubLink): boolean {
    return state === 'up' && score.distrustedMs(this.#options.clock.monotonic()) === 0;
  }

  #add(peer: Peer): void {
    const { address } = peer;
    this.#links.set(
      address,
      this.#following.link(peer, this.#left.take(address)?.rejoined() ?? new PeerScore()),
    );
  }

  #peerChanged(peer: Peer): void {
    const { event } = this.#options;
    const link = this.#links.get(peer.address);
    const before = link?.state;
    if (peer.state === 'gone') {
      link?.close();
      if (link !== undefined) this.#gone = withLink(this.#gone, link);
      this.#links.delete(peer.address);
      if (link?.score.isTainted) this.#left.set(peer.address, link.score);
    } else if (link === undefined) {
      this.#add(peer);
      return;
    } else link.changed(peer);
    if (before !== peer.state)
      event(peer.state === 'down' ? 'warn' : 'info', `peer-${peer.state}`, {
        peer: peer.address,
        id: peer.id,
        why: peer.why ?? undefined,
      });
  }

  /** The neighbours that have a summary which says "maybe", under any of their secrets. */
  #candidates(hashes: readonly KeyedHash[]): Set<HubLink> {
    const found = new Set<HubLink>();
    for (const hash of hashes)
      for (const { address } of this.#summaries.candidates(hash, MOST_CANDIDATES)) {
        const link = this.#links.get(address);
        if (link !== undefined) found.add(link);
      }
    return found;
  }

  /** The hash by which all nodes know a key in questions to owners. */
  #hashForOwner(hashes: readonly KeyedHash[]): KeyedHash {
    const up = [...this.#links.values()].filter(({ state }) => state === 'up');
    const chosen = ownerKey(
      hashes.map(({ keyId }) => keyId),
      up.map(({ keys }) => keys),
    );
    return hashes.find(({ keyId }) => keyId === chosen)!;
  }

  /** The owner of a key, and the node that is asked if the owner does not answer. */
  #ownersOf(hash: HashHalves): string[] {
    const { self } = this.#options.transport;
    const ids = [self.id];
    for (const { id, state } of this.#links.values()) if (id !== null && state === 'up') ids.push(id);
    return rendezvousOrder(hash, ids).slice(0, 2);
  }

  /** Puts a question to an owner, which may be this node itself. Null if there is no answer. */
  async #put(
    owner: string,
    question: OwnerQuestion,
    timeoutMs = ownerDeadlineMs(this.#options.budgetMs),
  ): Promise<TrackerAnswer | null> {
    const { transport, clock } = this.#options;
    if (owner === transport.self.id)
      return this.#tracker.answer(question, owner, clock.monotonic(), (node) => this.#isUsable(node));
    const neighbour = this.find(owner);
    if (neighbour === null) return null;
    this.#ownerQuestions++;
    try {
      const options = { timeoutMs };
      const answer = await transport.request(
        neighbour.address,
        OWNER_TOPIC,
        encodeQuestion(question),
        options,
      );
      return decodeAnswer(answer);
    } catch {
      return null;
    }
  }

  #answerAsOwner(body: Uint8Array, from: string): Uint8Array {
    const { clock } = this.#options;
    const question = decodeQuestion(body);
    // A question that cannot be read comes from a later version: its asker goes to the origin.
    if (question === null) return encodeAnswer({ kind: 'fetch' });
    return encodeAnswer(
      this.#tracker.answer(question, from, clock.monotonic(), (node) => this.#isUsable(node)),
    );
  }

  #isUsable(node: string): boolean {
    return node === this.#options.transport.self.id || this.find(node) !== null;
  }
}

function plain({ address, id }: HubLink): { readonly address: string; readonly id: string | null } {
  return { address, id };
}

function withLink(totals: NeighbourTotals, { summaryBytes, score }: HubLink): NeighbourTotals {
  const { trueHits, falseHits } = score.guesses;
  return {
    summaryBytes: totals.summaryBytes + summaryBytes,
    trueHits: totals.trueHits + trueHits,
    falseHits: totals.falseHits + falseHits,
  };
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}

/** The share of keys for which a summary wrongly says "maybe". */
function rateOf(positions: SummaryPositions | null): number {
  return positions === null ? 0 : positions.size / positions.universe;
}

function isLater(
  told: { readonly epoch: number; readonly sequence: number } | null,
  held: { readonly epoch: number; readonly sequence: number } | null,
): boolean {
  if (told === null) return false;
  if (held === null || told.epoch !== held.epoch) return true;
  return told.sequence > held.sequence;
}
