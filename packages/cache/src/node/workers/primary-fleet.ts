/**
 * The fleet in the primary of several workers. To its neighbours the node is one: one name, one
 * peer port, one summary of what all workers hold. The workers reach it over their channels
 * (fleet-channel.ts).
 *
 * ```
 *   worker ── changes of its store ──► summary ──► neighbours
 *   worker ── hash of a miss ──► plan ──► worker, which asks the neighbours itself
 *   neighbour ──► peer port ── summaries, owners ──► here
 *                        └──── objects ──► the worker that owns the key, over its socket
 * ```
 *
 * Summaries of neighbours are held once, whatever the number of workers. A plan costs a worker a
 * message there and back (0.04 ms at the median and 0.9 ms at the 99th percentile, on a busy
 * machine). A hit costs nothing.
 *
 * When a worker dies, everything that it told leaves the summary, because no process can serve it.
 * Each life of a worker has its own part of the summary (`peers/decisions/summary-keeper.ts`), so
 * keys that the next life tells are not dropped with those of the last one.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Clock, FleetKeyring } from '@bloomery/transport';
import { type CertificatePem, certifiedNames } from '@bloomery/transport/http';
import { MOST_PARTS } from '../../peers/decisions/summary-keeper.ts';
import type { MakeObjectFinder } from '../../peers/groups/object-finder.ts';
import type { Neighbour, NeighbourPlan } from '../../peers/neighbour-port.ts';
import { keyOfTarget } from '../../peers/objects/object-request.ts';
import { refuseQuestion } from '../../peers/peer-entry.ts';
import type { FleetReport } from '../../peers/peer-report.ts';
import { hasBody } from '../../proxy/client/exchange.ts';
import type { Limits } from '../../safety/limits.ts';
import type { NodeConfig } from '../config/node-config.ts';
import { peerCertificates } from '../config/peer-certificates.ts';
import type { PeerConfig } from '../config/peer-config.ts';
import { readPeerSecrets } from '../config/peer-secret.ts';
import { FleetMember } from '../fleet/fleet-member.ts';
import type { MakeMedium } from '../fleet/media/fleet-medium.ts';
import { prepareMedium } from '../fleet/media/prepare-medium.ts';
import { openPeerPort, type PeerPort } from '../fleet/peer-port.ts';
import { purgeMemory } from '../fleet/purge-file.ts';
import { type Certificate, readCertificate } from '../listen/node-servers.ts';
import type { Log } from '../log/log.ts';
import {
  type FleetNews,
  type FleetStart,
  type FleetToPrimary,
  type FleetToWorker,
  NUMBERS_PER_CHANGE,
} from './fleet-messages.ts';
import { fromNeighbour, Relay } from './relay.ts';
import { ownerOf } from './team.ts';

export interface PrimaryFleetOptions {
  readonly config: NodeConfig;
  readonly peers: PeerConfig;
  readonly name: string;
  readonly log: Log;
  /** The Unix socket of a worker. */
  readonly socketPath: (worker: number) => string;
  /** Sends a message to every running worker. */
  readonly tellAll: (message: FleetToWorker) => void;
  readonly clock?: Clock;
  /** The disk folder of the node, or null if there is none. */
  readonly folder: string | null;
  /** Makes the directory of objects across groups; see `StartOptions`. */
  readonly findObjects?: MakeObjectFinder | undefined;
  /** Removes a key from the store of the worker that owns it. */
  readonly remove: (key: string) => Promise<unknown>;
}

export class PrimaryFleet {
  readonly #options: PrimaryFleetOptions;
  readonly #member: FleetMember;
  readonly #relay: Relay;
  /** The secrets of the member's keyring, for workers. */
  #secrets: readonly Uint8Array[];
  /** The part of the summary that each running worker fills. */
  readonly #parts = new Map<number, number>();
  /** Parts of workers that ended, until nothing of them is left. */
  readonly #leaving = new Set<number>();
  #lastPart = 0;
  #port: PeerPort | null = null;
  #closing: Promise<void> | null = null;

  private constructor(options: PrimaryFleetOptions, medium: MakeMedium) {
    const { peers, name, log, socketPath, tellAll, clock, folder, remove, findObjects } = options;
    this.#secrets = readPeerSecrets(peers.secretFile);
    this.#options = options;
    this.#relay = new Relay({ socketPath }, () => name);
    this.#member = new FleetMember({
      config: peers,
      name,
      keyring: new FleetKeyring(this.#secrets),
      certificates: peerCertificates(peers.certificates),
      event: log.event.bind(log),
      medium,
      ...(clock === undefined ? {} : { clock }),
      purges: purgeMemory(folder),
      remove,
      findObjects,
      changed: () => tellAll({ kind: 'fleet-news', news: this.#news() }),
    });
  }

  /** Joins the fleet and opens the peer port. */
  static async open(options: PrimaryFleetOptions): Promise<PrimaryFleet> {
    const fleet = new PrimaryFleet(options, await prepareMedium(options.peers));
    try {
      await fleet.#open();
    } catch (error) {
      await fleet.close(0);
      throw error;
    }
    return fleet;
  }

  /** A worker begins a life. Returns the facts for its start. */
  begin(worker: number): FleetStart {
    this.end(worker);
    this.#parts.set(worker, this.#freePart());
    const { name, listen } = this.#member;
    const certificates = this.#member.certificates?.pem ?? null;
    return { name, secrets: this.#secrets.map(inBase64), certificates, listen, news: this.#news() };
  }

  /** A worker has ended: what it held leaves the summary. */
  end(worker: number): void {
    const part = this.#parts.get(worker);
    if (part === undefined) return;
    this.#parts.delete(worker);
    this.#leaving.add(part);
    this.#member.sink.dropPart(part, () => this.#leaving.delete(part));
  }

  /** Takes a message of a running worker. */
  receive(worker: number, message: FleetToPrimary, reply: (answer: FleetToWorker) => void): void {
    const { directory } = this.#member;
    switch (message.kind) {
      case 'summary':
        this.#change(worker, message.changes);
        break;
      case 'plan': {
        const tell = (plan: NeighbourPlan) => {
          // The neighbours of `beyond` and the holder are plain data already.
          const asks = plan.asks.map((ask) => ({ ...ask, neighbour: plainNeighbour(ask.neighbour) }));
          reply({ kind: 'planned', id: message.id, plan: { ...plan, asks } });
        };
        const plan = directory.plan(message.hashes, message.again);
        if (plan instanceof Promise) void plan.then(tell);
        else tell(plan);
        break;
      }
      case 'ask-owner':
        void directory.askOwner(message.hashes, message.lost).then((word) => {
          if (word === null) return;
          const { owner, keyId, answer } = word;
          const plain = answer === null || answer === 'fetch' ? answer : plainNeighbour(answer);
          reply({ kind: 'owner-said', id: message.id, word: { owner, keyId, answer: plain } });
        });
        break;
      case 'purge':
        void this.#member
          .purge(message.key, message.waitMs)
          .then((reach) => reply({ kind: 'purge-reach', id: message.id, reach }));
        break;
      case 'look':
        void this.#member
          .look(message.hashes)
          .then((look) => reply({ kind: 'looked', id: message.id, look }));
        break;
      case 'picture':
        void this.#member.picture().then((picture) => reply({ kind: 'pictured', id: message.id, picture }));
        break;
      case 'done':
        directory.done(message.owner, message.hash);
        break;
      case 'gave-up':
        directory.gaveUp(message.owner, message.hash, message.why);
        break;
      case 'neighbour-report':
        directory.report(message.report);
    }
  }

  report(): FleetReport {
    return this.#member.report();
  }

  /** Takes the secrets that its file has now, here and in the workers. */
  changeSecrets(secrets: readonly Uint8Array[]): void {
    this.#secrets = secrets;
    // The workers are told first, because they must know the secrets under which the primary sends
    // them questions.
    this.#options.tellAll({ kind: 'fleet-secrets', secrets: secrets.map(inBase64) });
    this.#member.keyring.change(secrets);
  }

  /** Takes the certificates that the files have now. Throws if they cannot be used. */
  changeCertificates(pem: CertificatePem): void {
    const { certificates, name } = this.#member;
    certificates?.change(pem, name);
    this.#options.tellAll({ kind: 'fleet-certificates', certificates: pem });
  }

  /** Takes over the neighbours of new settings. */
  changeMembers(peers: PeerConfig): void {
    this.#member.changeMembers(peers);
  }

  changeCertificate(certificate: Certificate): void {
    this.#port?.changeCertificate(certificate);
  }

  changeLimits(limits: Limits): void {
    this.#port?.changeLimits(limits);
  }

  /** Says goodbye to the neighbours, and refuses their questions from now on. */
  drain(): void {
    this.#member.drain();
  }

  /** Closes the links and the peer port, and cuts the answers that still run at the deadline. */
  close(deadlineMs: number): Promise<void> {
    this.#closing ??= this.#close(deadlineMs);
    return this.#closing;
  }

  async #close(deadlineMs: number): Promise<void> {
    await this.#member.leave();
    await this.#port?.close(deadlineMs);
    await this.#relay.close();
    this.#member.close();
  }

  async #open(): Promise<void> {
    const { config, peers, name, log } = this.#options;
    if (peers.listen === null) return;
    this.#port = await openPeerPort({
      address: peers.listen,
      certificate: readCertificate(config),
      certificates: this.#member.certificates,
      limits: config.limits,
      name: () => name,
      handle: (request, response) => this.#handle(request, response),
      failed: (error) => log.event('error', 'accept-failed', { problem: error }),
    });
    this.#member.listen = this.#port.address;
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    if (this.#member.handle(request, response)) return;
    const refuse = () => refuseQuestion(response, this.#member.summary(null));
    const key = keyOfTarget(request.url ?? '');
    if (key === null || request.method !== 'GET' || hasBody(request)) refuse();
    else {
      const owner = ownerOf(key, this.#options.config.workers);
      const client = fromNeighbour(certifiedNames(request.socket));
      this.#relay.send(request, response, { client, owner }, refuse);
    }
  }

  #change(worker: number, changes: readonly number[]): void {
    const part = this.#parts.get(worker);
    if (part === undefined) return;
    const { sink } = this.#member;
    for (let at = 0; at + NUMBERS_PER_CHANGE <= changes.length; at += NUMBERS_PER_CHANGE) {
      const hash = { keyId: changes[at]!, low: changes[at + 1]!, high: changes[at + 2]! };
      const until = changes[at + 3]!;
      if (until === 0) sink.drop(hash);
      else sink.keep(hash, until, part);
    }
  }

  /** A part that no worker fills, and of which nothing is left. Workers are 64 at most. */
  #freePart(): number {
    const used = new Set([...this.#parts.values(), ...this.#leaving]);
    do this.#lastPart = (this.#lastPart + 1) % MOST_PARTS;
    while (used.has(this.#lastPart) && used.size < MOST_PARTS);
    return this.#lastPart;
  }

  #news(): FleetNews {
    const { summaries, hub, validAfter } = this.#member;
    return { summaries, live: hub.live.map(plainNeighbour), validAfter };
  }
}

function plainNeighbour({ id, address, keyId }: Neighbour): Neighbour {
  return { id, address, keyId };
}

function inBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
