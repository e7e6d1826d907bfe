/**
 * A fleet that cooperates by the summaries of this cache. cooperating-node.ts says which code of
 * production runs; this file connects the nodes, each with all others.
 */

import { SimNetwork, type SimTransport, type Simulation } from '@bloomery/sim';
import { FleetKeyring } from '@bloomery/transport';
import { RequestSigner } from '@bloomery/transport/http';
import { SEND_LIMITS, type SendLimits } from 'bloomery/wire';
import { summaryRate } from '../../peers/decisions/summary-universe.ts';
import { askFields } from '../../peers/objects/object-request.ts';
import { REFUSED_STATUS, refusalFields } from '../../peers/objects/object-response.ts';
import { CountedTransport } from '../counted-transport.ts';
import type { FleetGround } from '../fleet-ground.ts';
import type { SummaryForm } from '../fleet-options.ts';
import type { FetchedFrom, FleetPolicy } from '../fleet-policy.ts';
import { keyOfObject } from '../trace.ts';
import { BloomForm } from './bloom-form.ts';
import { CooperatingNode, type CooperatingNodeOptions } from './cooperating-node.ts';
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
}

/** The secret of a simulated fleet. Its bytes decide which false positives occur. */
const SECRET = new Uint8Array(16).fill(7);
const KEYRING = new FleetKeyring([SECRET]);

export class CooperatingNodes implements FleetPolicy {
  readonly #ground: FleetGround;
  readonly #options: CooperatingOptions;
  readonly #network: SimNetwork;
  readonly #nodes: CooperatingNode[] = [];
  readonly #transports: SimTransport[] = [];
  readonly #listener: SharedListener | null;
  readonly #askBytes: CooperatingNodeOptions['askBytes'];

  constructor(ground: FleetGround, options: CooperatingOptions) {
    this.#ground = ground;
    this.#options = options;
    this.#network = new SimNetwork(options.simulation);
    this.#network.setConditions({ delayMs: ground.times.neighbourMs / 2 });
    this.#askBytes = questionBytes(ground);
    this.#listener = options.sharesReceivers ? this.#listen() : null;
    for (let node = 0; node < ground.nodes; node++) this.#nodes.push(this.#start(node));
  }

  lookUp(node: number, object: number): boolean {
    return this.#nodes[node]!.cache.use(object);
  }

  fetch(node: number, object: number, bytes: number, landed: (from: FetchedFrom) => void): void {
    this.#nodes[node]!.fetch(object, bytes, landed);
  }

  /** The process ends, and another one starts at its address with nothing. */
  replace(node: number): void {
    const old = this.#nodes[node]!;
    old.close();
    old.cache.clear();
    void this.#transports[node]!.close();
    this.#nodes[node] = this.#start(node);
  }

  close(): void {
    for (const node of this.#nodes) node.close();
    this.#listener?.close();
  }

  #newForm(): BloomForm | null {
    const { form, limits, falseCandidates } = this.#options;
    if (form === 'set') return null;
    return new BloomForm({
      form,
      entries: this.#ground.size.expectedEntries,
      falsePositiveRate: summaryRate(this.#ground.nodes - 1, falseCandidates),
      changedShare: limits.changedShare ?? SEND_LIMITS.changedShare,
    });
  }

  #listen(): SharedListener {
    const id = 'listener';
    const peers = Array.from({ length: this.#ground.nodes }, (_, node) => addressOf(node));
    return new SharedListener({
      transport: this.#network.join({ id, address: `http://${id}:3129`, peers }),
      clock: this.#options.simulation.clockOf(id),
      keyId: KEYRING.first.id,
    });
  }

  #start(index: number): CooperatingNode {
    const { simulation, copies, asksOwner, limits, falseCandidates } = this.#options;
    const bloomForm = this.#newForm();
    const id = idOf(index);
    const peers: string[] = [];
    for (let other = 0; other < this.#ground.nodes; other++)
      if (other !== index) peers.push(addressOf(other));
    const link = this.#network.join({ id, address: addressOf(index), peers });
    this.#transports[index] = link;
    const updateBytes = bloomForm === null ? undefined : () => bloomForm.updateBytes();
    const transport = new CountedTransport(link, this.#ground.counts, updateBytes);
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
      limits,
      falseCandidates,
      bloomForm,
      nodeOf: (name) => this.#nodes[Number(name.slice(ID.length))]!,
      askBytes: this.#askBytes,
    });
  }
}

const ID = 'node-';

function idOf(index: number): string {
  return `${ID}${index}`;
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
