/**
 * A fleet that cooperates by the summaries of this cache, or one group of a fleet.
 * cooperating-node.ts says which code of production runs; this file connects the nodes, each with
 * all others.
 */

import { SimNetwork, type SimTransport, type Simulation } from '@bloomery/sim';
import { FleetKeyring } from '@bloomery/transport';
import { RequestSigner } from '@bloomery/transport/http';
import { LeaderBeats, type LeaderClaim } from '@bloomery/transport/membership';
import { SEND_LIMITS, type SendLimits } from 'bloomery/wire';
import { summaryRate } from '../../peers/decisions/summary-universe.ts';
import type { KeyedHash } from '../../peers/neighbour-port.ts';
import { askFields } from '../../peers/objects/object-request.ts';
import { REFUSED_STATUS, refusalFields } from '../../peers/objects/object-response.ts';
import { CountedTransport } from '../counted-transport.ts';
import type { FleetGround } from '../fleet-ground.ts';
import type { SummaryForm } from '../fleet-options.ts';
import type { FetchedFrom, FleetPolicy } from '../fleet-policy.ts';
import type { SummaryMemory } from '../fleet-result.ts';
import { keyOfObject } from '../trace.ts';
import { BloomForm } from './bloom-form.ts';
import { type BeyondGroup, CooperatingNode, type CooperatingNodeOptions } from './cooperating-node.ts';
import { SharedListener } from './shared-following.ts';

export interface CooperatingOptions {
  readonly simulation: Simulation;
  readonly copies: number;
  readonly asksOwner: boolean;
  readonly limits: Partial<SendLimits>;
  readonly falseCandidates: number | undefined;
  readonly form: SummaryForm;
  /** Whether one receiver follows all summaries for all nodes (shared-following.ts). */
  readonly sharesReceivers: boolean;
  /** The group that these nodes are. Default: they are the whole fleet. */
  readonly group?: CooperatingGroup | undefined;
}

interface CooperatingGroup {
  readonly name: string;
  /** The numbers of its nodes. */
  readonly members: readonly number[];
  /** The way to objects of other groups. */
  readonly beyond: BeyondGroup;
  /** Called with the claim of a node to lead the group. Without it the group elects no leader. */
  readonly claimed?: ((node: number, claim: LeaderClaim) => void) | undefined;
}

/** The secret of a simulated fleet. Its bytes decide which false positives occur. */
const SECRET = new Uint8Array(16).fill(7);
export const KEYRING = new FleetKeyring([SECRET]);

export class CooperatingNodes implements FleetPolicy {
  readonly #ground: FleetGround;
  readonly #options: CooperatingOptions;
  readonly #network: SimNetwork;
  readonly #members: readonly number[];
  readonly #nodes = new Map<number, CooperatingNode>();
  readonly #transports = new Map<number, SimTransport>();
  readonly #elections = new Map<number, LeaderBeats>();
  readonly #listener: SharedListener | null;
  readonly #askBytes: CooperatingNodeOptions['askBytes'];

  constructor(ground: FleetGround, options: CooperatingOptions) {
    this.#ground = ground;
    this.#options = options;
    this.#network = new SimNetwork(options.simulation);
    this.#network.setConditions({ delayMs: ground.times.neighbourMs / 2 });
    this.#askBytes = questionBytes(ground);
    this.#members = options.group?.members ?? Array.from({ length: ground.nodes }, (_, node) => node);
    this.#listener = options.sharesReceivers ? this.#listen() : null;
    for (const node of this.#members) this.#nodes.set(node, this.#start(node));
  }

  lookUp(node: number, object: number): boolean {
    return this.#nodes.get(node)!.cache.use(object);
  }

  fetch(node: number, object: number, bytes: number, landed: (from: FetchedFrom) => void): void {
    this.#nodes.get(node)!.fetch(object, bytes, landed);
  }

  /** The process ends, and another one starts at its address with nothing. */
  replace(node: number): void {
    this.stop(node);
    this.start(node);
  }

  /** The process ends after its last answers, and neighbours see at once that it is gone. */
  stop(node: number): void {
    const old = this.#end(node);
    old.tellChanges();
    void this.#transports.get(node)!.close();
  }

  /** The process ends in the middle of its work. Its open connections are reset. */
  crash(node: number): void {
    const old = this.#end(node);
    this.#network.crash(addressOf(node));
    old.entry.breakOff();
  }

  /** Starts an empty node where none runs. */
  start(node: number): void {
    this.#nodes.set(node, this.#start(node));
  }

  isRunning(node: number): boolean {
    return this.#nodes.has(node);
  }

  /** The election of the leader as a node sees it, if it runs and the group elects one. */
  election(node: number): LeaderBeats | undefined {
    return this.#elections.get(node);
  }

  #end(node: number): CooperatingNode {
    const old = this.#nodes.get(node)!;
    this.#nodes.delete(node);
    this.#elections.get(node)?.close();
    this.#elections.delete(node);
    old.close();
    old.cache.clear();
    return old;
  }

  /** The process ends. A goodbye is heard at once, and a kill by the silence that follows. */
  end(node: number, how: 'leave' | 'kill'): void {
    if (how === 'leave') {
      this.stop(node);
      return;
    }
    const old = this.#end(node);
    this.#network.vanish(addressOf(node));
    old.entry.breakOff();
  }

  begin(node: number): void {
    this.start(node);
  }

  close(): void {
    for (const node of this.#nodes.values()) node.close();
    for (const election of this.#elections.values()) election.close();
    this.#listener?.close();
  }

  /** The listener holds the summary of each node, and a node those of all others. */
  summaryMemory(): SummaryMemory | null {
    if (this.#listener === null) return null;
    const count = this.#members.length;
    return { nodeBytes: (this.#listener.byteLength * (count - 1)) / count, leaderBytes: 0 };
  }

  /** The nodes whose summaries say "maybe", as a node knows that follows all of them. */
  holders(hash: KeyedHash): number[] {
    return (this.#listener?.candidates(hash) ?? []).map(indexOf);
  }

  /** Bytes of a question for an object, and of its refusal. */
  askBytes(object: number): { readonly query: number; readonly reply: number } {
    return this.#askBytes(object);
  }

  #newForm(): BloomForm | null {
    const { form, limits, falseCandidates } = this.#options;
    if (form === 'set') return null;
    return new BloomForm({
      form,
      entries: this.#ground.size.expectedEntries,
      falsePositiveRate: summaryRate(this.#members.length - 1, falseCandidates),
      changedShare: limits.changedShare ?? SEND_LIMITS.changedShare,
    });
  }

  #listen(): SharedListener {
    const { group } = this.#options;
    const id = group === undefined ? 'listener' : `listener-${group.name}`;
    const peers = this.#members.map(addressOf);
    return new SharedListener({
      transport: this.#network.join({ id, address: `http://${id}:3129`, peers }),
      clock: this.#options.simulation.clockOf(id),
      keyId: KEYRING.first.id,
    });
  }

  #start(index: number): CooperatingNode {
    const { simulation, copies, asksOwner, limits, falseCandidates, group } = this.#options;
    const bloomForm = this.#newForm();
    const id = idOf(index);
    const peers = this.#members.filter((other) => other !== index).map(addressOf);
    const link = this.#network.join({ id, address: addressOf(index), peers });
    this.#transports.set(index, link);
    const updateBytes = bloomForm === null ? undefined : () => bloomForm.updateBytes();
    const transport = new CountedTransport(link, this.#ground.counts, updateBytes);
    const { claimed } = group ?? {};
    if (claimed !== undefined)
      this.#elections.set(
        index,
        new LeaderBeats({
          transport,
          clock: simulation.clockOf(id),
          claimed: (claim) => claimed(index, claim),
        }),
      );
    return new CooperatingNode({
      ground: this.#ground,
      index,
      id,
      clock: simulation.clockOf(id),
      transport,
      keyring: KEYRING,
      following: this.#listener?.followingOf(transport),
      copies,
      asksOwner,
      neighbours: peers.length,
      beyond: group?.beyond ?? null,
      limits,
      falseCandidates,
      bloomForm,
      nodeOf: (name) => this.#nodes.get(indexOfId(name)),
      askBytes: this.#askBytes,
    });
  }
}

const ID = 'node-';

/** The id of a node by its number. */
export function idOf(index: number): string {
  return `${ID}${index}`;
}

/** The number of a node by its id. */
export function indexOfId(id: string): number {
  return Number(id.slice(ID.length));
}

function indexOf({ address }: { readonly address: string }): number {
  return indexOfId(new URL(address).hostname);
}

function addressOf(index: number): string {
  return `http://${idOf(index)}:3129`;
}

/** Bytes of a question as production writes it, and of a refusal, without the frames of TCP. */
function questionBytes({ clock }: FleetGround): CooperatingNodeOptions['askBytes'] {
  const host = `${idOf(10)}:3129`;
  const signer = new RequestSigner(SECRET, idOf(10), clock);
  const signature = signer.sign({ method: 'GET', target: keyOfObject(0), host, to: idOf(10) });
  const asked = ['Host', host, 'Bloomery-Peer', signature];
  asked.push(...askFields([], { kind: 'stored', waitMs: 0, rest: null }));
  const question = linesLength('GET  HTTP/1.1', asked);
  const refused = ['Date', new Date(clock.now()).toUTCString(), 'Connection', 'keep-alive'];
  refused.push(...refusalFields({ epoch: 2 ** 40, sequence: 1000 }, null));
  const reply = linesLength(`HTTP/1.1 ${REFUSED_STATUS} Gateway Timeout`, refused);
  return (object) => ({ query: question + keyOfObject(object).length, reply });
}

/** Length of a head with its empty line. */
function linesLength(first: string, fields: readonly string[]): number {
  let length = first.length + 4;
  for (let at = 0; at + 1 < fields.length; at += 2) length += fields[at]!.length + fields[at + 1]!.length + 4;
  return length;
}
