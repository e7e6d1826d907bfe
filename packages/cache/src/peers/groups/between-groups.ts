/**
 * The other groups of the fleet, as a node of one group uses them: who leads its own group, who is
 * in the others, and which of their nodes owns a key. The decisions are those of
 * `packages/transport` (`LeaderElection`, `ListTeller`, `GroupDirectory`), and the simulation runs
 * them as well. This file joins them with the nodes that the transport sees.
 *
 * A list of a group is a hint. A node is asked only if the transport says that it is up and in that
 * group, if its last answers did not fail, and if it sent no forged object. So a node that a list
 * still names after its death costs nothing once its link is down. A list of an old leader costs a
 * question to a node that fetches the object as the right owner would.
 *
 * The owner of a key follows from its hash under one secret. Nodes of all groups must choose the
 * same one, so the choice (`ownerKey`) is over all nodes of the fleet that are up.
 */

import type { Cancel, Clock, FleetKeyring, Peer, Transport } from '@bloomery/transport';
import { GroupDirectory, GroupLists, type LeaderBeats } from '@bloomery/transport/membership';
import { ownerKey } from '../decisions/owner-key.ts';
import { ownerDeadlineMs } from '../decisions/peer-choice.ts';
import { PeerScore } from '../decisions/peer-score.ts';
import type { KeyedHash, Neighbour, NeighbourReport, PlannedQuestion } from '../neighbour-port.ts';
import type { OtherGroups } from '../peer-hub.ts';
import type { GroupReport, GroupsReport } from '../peer-report.ts';

export interface BetweenGroupsOptions {
  /** The name of this node's group. */
  readonly group: string;
  /** The transport that reaches all nodes of the fleet. */
  readonly fleet: Pick<Transport, 'self' | 'peers' | 'watchPeers' | 'publish' | 'subscribe'>;
  /** The election of the leader of this node's group. */
  readonly beats: Pick<LeaderBeats, 'claim' | 'isLeader' | 'members'>;
  readonly clock: Clock;
  readonly keyring: FleetKeyring;
  readonly budgetMs: number;
  /** Time for which a leader may be unseen. Pauses between lists are in proportion. */
  readonly patienceMs: number;
  readonly event: (level: 'info' | 'warn', name: string, fields: Record<string, unknown>) => void;
}

/** Owners that are asked, one after the other. */
const MOST_ASKED = 2;
/** Members of the owner group that are looked at, because the first ones may be down. */
const MOST_LOOKED = 8;
/** A group owns nothing if no list of it was heard for this many times the patience. */
const FRESH_PATIENCES = 3;
const LOOKS_PER_PATIENCE = 6;

/** One node of another group that is or was asked. */
interface Foreign {
  readonly peer: Peer;
  readonly score: PeerScore;
}

export class BetweenGroups implements OtherGroups {
  readonly #options: BetweenGroupsOptions;
  readonly #directory: GroupDirectory;
  readonly #lists: GroupLists;
  readonly #cancels: Cancel[] = [];
  /** The nodes of other groups, by their address. */
  readonly #nodes = new Map<string, Foreign>();
  readonly #byId = new Map<string, Foreign>();
  /** The secret by which all nodes know keys now, or null if it is to be found again. */
  #keyId: number | null = null;
  #questions = 0;
  #hits = 0;
  #refused = 0;
  #failed = 0;
  #bytes = 0;
  #isMixed = false;

  constructor(options: BetweenGroupsOptions) {
    const { group, fleet, beats, clock, keyring, patienceMs } = options;
    this.#options = options;
    this.#directory = new GroupDirectory({ own: group, freshMs: FRESH_PATIENCES * patienceMs });
    for (const peer of fleet.peers()) this.#changed(peer);
    this.#cancels.push(
      fleet.watchPeers((peer) => this.#changed(peer)),
      keyring.watch(() => {
        this.#keyId = null;
      }),
    );
    const lookMs = patienceMs / LOOKS_PER_PATIENCE;
    const how = { directory: this.#directory, lookMs, repeatMs: patienceMs };
    this.#lists = new GroupLists({ group, fleet, beats, clock, ...how });
  }

  close(): void {
    for (const cancel of this.#cancels) cancel();
    this.#lists.close();
  }

  owners(hashes: readonly KeyedHash[]): readonly PlannedQuestion[] {
    const { clock, budgetMs } = this.#options;
    const hash = this.commonHash(hashes);
    const owner = this.#directory.ownerOf(hash, clock.monotonic(), MOST_LOOKED);
    if (owner === null) return [];
    const asked = owner.nodes
      .map((id) => this.#byId.get(id))
      .filter((node) => node !== undefined && node.peer.group === owner.group && this.#isAsked(node));
    return asked.slice(0, MOST_ASKED).map((node, place) => ({
      neighbour: neighbourAt(node!.peer),
      headDeadlineMs: ownerDeadlineMs(budgetMs, place),
      hedgeAfterMs: null,
    }));
  }

  find(node: string): Neighbour | null {
    const found = this.#byId.get(node);
    return found !== undefined && this.#isAsked(found) ? neighbourAt(found.peer) : null;
  }

  get live(): readonly Neighbour[] {
    return [...this.#byId.values()]
      .filter((node) => this.#isAsked(node))
      .map(({ peer }) => neighbourAt(peer));
  }

  report(report: NeighbourReport): void {
    const { clock, event } = this.#options;
    const { address, id } = report.neighbour;
    const score = this.#nodes.get(address)?.score;
    const now = clock.monotonic();
    if (report.kind === 'asked') {
      this.#questions++;
      score?.begin();
    } else if (report.kind === 'answered') {
      const { end } = report;
      if (end === 'hit') this.#hits++;
      else if (end === 'refused' || end === 'unusable') this.#refused++;
      else if (end === 'late' || end === 'failed') this.#failed++;
      // The question was counted when it was put. After the wait it is reported a second time.
      else if (end === 'waits') this.#questions--;
      // An owner says within its deadline that it fetches, so one that is late may be dead.
      const verdict = end === 'waits' ? 'cancelled' : end === 'late' ? 'failed' : end;
      score?.end(verdict, { guessed: false, waitedMs: report.ms, now });
    } else if (report.kind === 'body') {
      this.#bytes += report.bytes;
      if (report.end === 'whole' || report.end === 'cancelled') score?.finish({ guessed: false });
      else score?.breakOff({ now });
    } else if (report.kind === 'forged' && score !== undefined) {
      score.distrust(now);
      event('warn', 'peer-distrusted', { peer: address, id, forMs: score.distrustedMs(now) });
    }
  }

  status(): Omit<GroupsReport, 'finds'> {
    const { group, beats, fleet } = this.#options;
    const { claim, members } = beats;
    const up = fleet.peers().filter(({ state }) => state === 'up');
    return {
      group,
      leader: claim?.leader ?? null,
      epoch: claim?.epoch ?? null,
      isLeader: beats.isLeader,
      members: members.length,
      ungrouped: up.filter((peer) => (peer.group ?? null) === null).length,
      others: this.#others(up),
      questions: this.#questions,
      hits: this.#hits,
      refused: this.#refused,
      failed: this.#failed,
      objectBytes: this.#bytes,
    };
  }

  /** The other groups: those with a list, and those of nodes whose leader was not heard yet. */
  #others(up: readonly Peer[]): GroupReport[] {
    const { group: own, clock } = this.#options;
    const owning = new Set(this.#directory.names(clock.monotonic()));
    const names = new Set(up.flatMap(({ group }) => (group == null || group === own ? [] : [group])));
    for (const name of owning) if (name !== own) names.add(name);
    return [...names].sort().map((group) => {
      const list = this.#directory.list(group);
      return {
        group,
        leader: list?.claim.leader ?? null,
        epoch: list?.claim.epoch ?? null,
        members: list?.members.length ?? 0,
        up: up.filter((peer) => peer.group === group).length,
        isOwner: owning.has(group),
      };
    });
  }

  #changed(peer: Peer): void {
    const { group, event } = this.#options;
    const { address, id, state } = peer;
    this.#keyId = null;
    const before = this.#nodes.get(address);
    if (before?.peer.id != null && this.#byId.get(before.peer.id) === before)
      this.#byId.delete(before.peer.id);
    this.#nodes.delete(address);
    if (state === 'gone' || state === 'self') return;
    if (state === 'up' && peer.group == null && !this.#isMixed) {
      this.#isMixed = true;
      event('warn', 'groups-mixed', { peer: address, id, effect: MIXED });
    }
    if (peer.group == null || peer.group === group) return;
    // Another node at this address has no past.
    const score = before !== undefined && before.peer.id === id ? before.score : new PeerScore();
    const node = { peer, score };
    this.#nodes.set(address, node);
    // A node that moved is listed twice for a while: the address that is up counts.
    if (id !== null && (state === 'up' || !this.#byId.has(id))) this.#byId.set(id, node);
  }

  #isAsked({ peer, score }: Foreign): boolean {
    const now = this.#options.clock.monotonic();
    return (
      peer.state === 'up' && score.distrustedMs(now) === 0 && !score.isResting(now) && !score.isOverloaded
    );
  }

  /** The hash by which all nodes of the fleet know a key. */
  commonHash(hashes: readonly KeyedHash[]): KeyedHash {
    if (this.#keyId === null) {
      const up = this.#options.fleet.peers().filter(({ state }) => state === 'up');
      this.#keyId = ownerKey(
        hashes.map(({ keyId }) => keyId),
        up.map(({ keys }) => keys),
      );
    }
    return hashes.find(({ keyId }) => keyId === this.#keyId) ?? hashes[0]!;
  }
}

/** The effect of a fleet in which only some nodes are in groups, for the operator. */
export const MIXED =
  'nodes with --group and nodes without it exchange no summaries, and ask each other for no objects';

function neighbourAt({ id, address, keys }: Peer): Neighbour {
  return { id, address, keyId: keys[0] ?? null };
}
