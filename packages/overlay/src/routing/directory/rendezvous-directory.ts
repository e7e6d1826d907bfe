/**
 * The second tier among the members themselves: each key has two owners, the first two of its
 * rendezvous order, which know who holds it (decisions/owner-records.ts). It needs no server, and
 * when a node ends, only records are lost that their members tell again.
 *
 * Each member has a session with each owner: a state first, then changes, one message at a time,
 * and a beat if there is nothing to tell. That is N messages per beat and node, so it is for fleets
 * of up to some hundred members. For larger ones, `Directory` is the port to another second tier.
 *
 * The list of members is that of the transport. Every message carries its hash, the view. Where
 * members disagree, because one has just joined, answers are "unknown" until all have heard of it.
 * Owners name the holders that they know in any case.
 *
 * A node that finds its members by itself knows few of them when it has just started, or none while
 * its server is away. So a node answers "absent" only after a lease from its start, in which
 * members that run are heard, and never while it knows no other member.
 */

import { type Cancel, type Clock, type Peer, rendezvousOrder, type Transport } from '@bloomery/transport';
import { hashKey, type KeyHash } from 'bloomery';
import { OwnerRecords } from '../decisions/owner-records.ts';
import { hashName } from '../decisions/route-table.ts';
import type { HashBits } from '../wire/message-bytes.ts';
import {
  MOST_HOLDERS,
  readFind,
  readFound,
  readRegistration,
  writeFind,
  writeFound,
  writeTaken,
} from '../wire/owner-message.ts';
import type { Directory, DirectoryAnswer } from './directory.ts';
import { OwnerSession } from './owner-session.ts';

const REGISTER_TOPIC = 'route-register';
const FIND_TOPIC = 'route-find';
/** Owners of each key. */
const OWNERS = 2;
/** Beats without a word after which a member counts as silent. */
const LEASE_BEATS = 3;

export interface RendezvousDirectoryOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  /** Time between two beats. Default 5 s. */
  readonly beatMs?: number | undefined;
  /**
   * Time after the start in which some members may not be known yet. Default: a lease. It is 0
   * where the members are a list.
   */
  readonly settleMs?: number | undefined;
}

interface View {
  /** All members by id, this node among them. Null if some have never been heard. */
  readonly members: readonly string[] | null;
  readonly hash: HashBits;
  readonly addresses: ReadonlyMap<string, string>;
}

export class RendezvousDirectory implements Directory {
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #beatMs: number;
  readonly #records: OwnerRecords;
  readonly #keys = new Map<string, KeyHash>();
  readonly #sessions = new Map<string, OwnerSession>();
  readonly #cancels: Cancel[];
  readonly #boot: number;
  /** The time from which on all members that run are known. */
  readonly #settledMs: number;
  #view: View;
  #cancelBeat: Cancel = () => {};
  #isClosed = false;

  constructor({ transport, clock, beatMs = 5000, settleMs }: RendezvousDirectoryOptions) {
    this.#transport = transport;
    this.#clock = clock;
    this.#beatMs = beatMs;
    this.#boot = Math.floor(clock.now());
    this.#settledMs = clock.monotonic() + (settleMs ?? LEASE_BEATS * beatMs);
    this.#records = new OwnerRecords(LEASE_BEATS * beatMs);
    this.#view = viewOf(transport.self.id, transport.peers());
    this.#cancels = [
      transport.serve(REGISTER_TOPIC, (body, from) => this.#register(body, from)),
      transport.serve(FIND_TOPIC, (body) => this.#answer(body)),
      transport.watchPeers(() => this.#membersChanged()),
    ];
    this.#beat();
  }

  async change(added: readonly KeyHash[], removed: readonly KeyHash[], timeoutMs: number): Promise<boolean> {
    const owners = new Set<string>();
    for (const hash of removed) {
      this.#keys.delete(hashName(hash));
      for (const owner of this.#tell(hash, false)) owners.add(owner);
    }
    for (const hash of added) {
      this.#keys.set(hashName(hash), hash);
      for (const owner of this.#tell(hash, true)) owners.add(owner);
    }
    const told = [...owners].map((owner) => this.#sessions.get(owner)!.settled(timeoutMs));
    return (await Promise.all(told)).every(Boolean) && this.#view.members !== null;
  }

  async find(hash: KeyHash, timeoutMs: number): Promise<DirectoryAnswer> {
    const { members, hash: view, addresses } = this.#view;
    const known = members ?? [...addresses.keys(), this.#transport.self.id];
    const owners = rendezvousOrder(hash, known).slice(0, OWNERS);
    const answers = await Promise.all(
      owners.map(async (owner) => {
        if (owner === this.#transport.self.id) return this.#found(hash, view);
        try {
          const body = writeFind({ hash, view });
          return readFound(
            await this.#transport.request(addresses.get(owner)!, FIND_TOPIC, body, { timeoutMs }),
          );
        } catch {
          return null;
        }
      }),
    );
    const holders = [...new Set(answers.flatMap((answer) => answer?.holders ?? []))];
    const isComplete = answers.some((answer) => answer?.isComplete);
    if (holders.length > 0) return { status: 'holders', holders, isComplete };
    if (isComplete) return { status: 'absent' };
    const silent = answers.filter((answer) => answer === null).length;
    return {
      status: 'unknown',
      why: this.#isAlone
        ? 'no other member is known'
        : silent === owners.length
          ? 'no owner of the key answered'
          : 'an owner has not heard all members',
    };
  }

  close(): void {
    this.#isClosed = true;
    for (const cancel of this.#cancels) cancel();
    this.#cancelBeat();
    for (const session of this.#sessions.values()) session.close();
  }

  /** Notes a change for the owners of a key. Returns their ids. */
  #tell(hash: KeyHash, isThere: boolean): string[] {
    const { members } = this.#view;
    if (members === null) return [];
    const owners = rendezvousOrder(hash, members).slice(0, OWNERS);
    for (const owner of owners) this.#sessions.get(owner)?.note(hash, isThere);
    return owners.filter((owner) => this.#sessions.has(owner));
  }

  #membersChanged(): void {
    const view = viewOf(this.#transport.self.id, this.#transport.peers());
    if (this.#isClosed || (hashName(view.hash) === hashName(this.#view.hash) && this.#sessions.size > 0))
      return;
    this.#view = view;
    for (const member of this.#records.known())
      if (!view.members?.includes(member)) this.#records.forget(member);
    this.#restart();
  }

  /** Begins the sessions of a view, each with its state. */
  #restart(): void {
    const { members, hash: view } = this.#view;
    if (members === null) return;
    const states = new Map<string, KeyHash[]>(members.map((member) => [member, []]));
    for (const key of this.#keys.values())
      for (const owner of rendezvousOrder(key, members).slice(0, OWNERS)) states.get(owner)!.push(key);
    for (const [owner, session] of this.#sessions) if (!states.has(owner)) this.#drop(owner, session);
    for (const [owner, keys] of states) {
      let session = this.#sessions.get(owner);
      if (session === undefined) {
        session = new OwnerSession({ boot: this.#boot, clock: this.#clock, send: this.#sender(owner) });
        this.#sessions.set(owner, session);
      }
      session.begin(view, keys);
    }
  }

  #sender(owner: string): (body: Uint8Array) => Promise<Uint8Array> {
    if (owner === this.#transport.self.id) return async (body) => this.#register(body, owner);
    return (body) => {
      const address = this.#view.addresses.get(owner);
      if (address === undefined)
        return Promise.reject(new Error('Cannot register: the owner has no address'));
      return this.#transport.request(address, REGISTER_TOPIC, body, { timeoutMs: this.#beatMs });
    };
  }

  #drop(owner: string, session: OwnerSession): void {
    session.close();
    this.#sessions.delete(owner);
  }

  #beat(): void {
    this.#membersChanged();
    if (this.#sessions.size === 0) this.#restart();
    for (const session of this.#sessions.values()) session.beat();
    // Beats of many nodes that started together spread over the interval.
    this.#cancelBeat = this.#clock.after(this.#beatMs * (0.75 + this.#clock.random() / 4), () =>
      this.#beat(),
    );
  }

  #register(body: Uint8Array, from: string): Uint8Array {
    const registration = readRegistration(body);
    if (this.#view.members?.includes(from) !== true) return writeTaken(false);
    return writeTaken(this.#records.take(from, registration, this.#clock.monotonic()));
  }

  #answer(body: Uint8Array): Uint8Array {
    const { hash, view } = readFind(body);
    return writeFound(this.#found(hash, view));
  }

  /** Whether no other member is known: there may be some that were not heard yet. */
  get #isAlone(): boolean {
    return this.#view.members?.length === 1;
  }

  #found(hash: HashBits, view: HashBits) {
    const { members, hash: own } = this.#view;
    const nowMs = this.#clock.monotonic();
    const isComplete =
      members !== null &&
      !this.#isAlone &&
      nowMs >= this.#settledMs &&
      hashName(view) === hashName(own) &&
      this.#records.isComplete(members, own, nowMs);
    const holders = this.#records.holders(hash);
    // If the named holders deny, there may still be others that had no room in the answer.
    const isWhole = holders.length <= MOST_HOLDERS;
    return { holders: holders.slice(0, MOST_HOLDERS), isComplete: isComplete && isWhole };
  }
}

/** The members of a transport's list of peers. */
function viewOf(self: string, peers: readonly Peer[]): View {
  const others = peers.filter(({ state }) => state !== 'self' && state !== 'gone');
  const addresses = new Map<string, string>();
  for (const { id, address } of others) if (id !== null) addresses.set(id, address);
  const isWhole = others.every(({ id }) => id !== null);
  const members = [...addresses.keys(), self].sort();
  return { members: isWhole ? members : null, hash: hashKey(JSON.stringify(members)), addresses };
}
