/**
 * The lists of all groups, as a node keeps them: the leader of each group tells the whole fleet who
 * is in it, and every node hears these lists into a `GroupDirectory`. `ListTeller` decides when to
 * tell, and `LeaderBeats` who leads. This file has the timer and the messages.
 *
 * A list is a JSON text. It counts only if the node that sent it, by the name that the transport
 * proved, is the leader that the list names and says that it is in that group. So a node can lie
 * about its own group alone, and one that led an earlier epoch is refused by the order of claims.
 */

import type { Cancel, Clock } from '../../clock.ts';
import { isGroupName, type Peer, type Transport } from '../../transport.ts';
import { MOST_MEMBERS } from '../member-source.ts';
import type { GroupDirectory, GroupList } from './decisions/group-directory.ts';
import { isClaim } from './decisions/leader-claim.ts';
import { LIST_REPEAT_MS, ListTeller } from './decisions/list-teller.ts';
import type { LeaderBeats } from './leader-beats.ts';

export interface GroupListsOptions {
  readonly group: string;
  /** The transport that reaches all nodes of the fleet. */
  readonly fleet: Pick<Transport, 'self' | 'peers' | 'watchPeers' | 'publish' | 'subscribe'>;
  readonly beats: Pick<LeaderBeats, 'claim' | 'isLeader' | 'members'>;
  readonly directory: GroupDirectory;
  readonly clock: Clock;
  /** Pause between two looks for a change. */
  readonly lookMs?: number | undefined;
  /** Pause after which an unchanged list is told again. */
  readonly repeatMs?: number | undefined;
}

/** The topic of lists. */
const LIST_TOPIC = 'group-list';
const LOOK_MS = 5000;
const MOST_NAME = 255;
/** Room for the most members, with names of 128 letters, which is the most of a node. */
const MOST_LIST_BYTES = 1024 + MOST_MEMBERS * (128 + '"",'.length);

export class GroupLists {
  readonly #options: GroupListsOptions;
  readonly #teller: ListTeller;
  readonly #lookMs: number;
  readonly #unwatch: Cancel;
  /** The subscription to each node of the fleet, by its address. */
  readonly #links = new Map<string, Cancel>();
  /** A node came since the last look. */
  #isWanted = false;
  #cancelLook: Cancel;

  constructor(options: GroupListsOptions) {
    const { group, fleet, clock, lookMs = LOOK_MS, repeatMs = LIST_REPEAT_MS } = options;
    this.#options = options;
    this.#lookMs = lookMs;
    this.#teller = new ListTeller(group, repeatMs);
    for (const peer of fleet.peers()) this.#follow(peer);
    this.#unwatch = fleet.watchPeers((peer) => this.#follow(peer));
    this.#cancelLook = clock.after(lookMs * clock.random(), () => this.#look());
  }

  close(): void {
    this.#cancelLook();
    this.#unwatch();
    for (const cancel of this.#links.values()) cancel();
    this.#links.clear();
  }

  #look(): void {
    const { fleet, beats, directory, clock } = this.#options;
    const nowMs = clock.monotonic();
    const claim = beats.isLeader ? beats.claim : null;
    const { members } = beats;
    const list = this.#teller.look({ claim, members, isWanted: this.#isWanted, nowMs, wallMs: clock.now() });
    this.#isWanted = false;
    if (list !== null) {
      directory.hear(list, nowMs);
      fleet.publish(LIST_TOPIC, new TextEncoder().encode(JSON.stringify(list)));
    }
    this.#cancelLook = clock.after(this.#lookMs * (0.9 + 0.2 * clock.random()), () => this.#look());
  }

  #follow({ address, state }: Peer): void {
    const cancel = this.#links.get(address);
    if (state === 'gone' || state === 'self') {
      cancel?.();
      this.#links.delete(address);
      return;
    }
    if (state === 'up') this.#isWanted = true;
    if (cancel !== undefined) return;
    const subscription = {
      message: (bytes: Uint8Array) => this.#hear(address, bytes),
      open: () => {},
      closed: () => {},
    };
    this.#links.set(address, this.#options.fleet.subscribe(address, LIST_TOPIC, subscription));
  }

  #hear(address: string, bytes: Uint8Array): void {
    const { fleet, directory, clock } = this.#options;
    const sender = fleet.peers().find((peer) => peer.address === address);
    const list = readGroupList(bytes);
    if (sender === undefined || list === null) return;
    if (list.claim.leader === sender.id && list.group === sender.group)
      directory.hear(list, clock.monotonic());
  }
}

/** A list, or null if the bytes are not one. */
function readGroupList(bytes: Uint8Array): GroupList | null {
  if (bytes.length > MOST_LIST_BYTES) return null;
  let value: Partial<GroupList> | null;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
  const { group, claim, version, members } = value ?? {};
  if (typeof group !== 'string' || !isGroupName(group)) return null;
  if (!Number.isSafeInteger(version) || version! < 0) return null;
  if (!Array.isArray(members) || members.length > MOST_MEMBERS || !members.every(isName)) return null;
  const { epoch, leader, stability } = claim ?? {};
  if (!isName(leader) || typeof epoch !== 'number' || typeof stability !== 'number') return null;
  const read = { epoch, leader, stability };
  return isClaim(read) ? { group, claim: read, version: version!, members } : null;
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= MOST_NAME;
}
