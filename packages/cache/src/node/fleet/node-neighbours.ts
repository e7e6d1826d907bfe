/**
 * The neighbours of one node, of all kinds: its place in the fleet, the exchange of objects, the
 * peer port, and Squids in both directions. A node without neighbours has none of these parts, and
 * then everything here does nothing.
 *
 * With workers, the primary is the member of the fleet and has the peer port, and each worker has
 * the exchange for its own objects.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { FleetKeyring } from '@bloomery/transport';
import { checkPem } from '@bloomery/transport/http';
import type { MakeObjectFinder } from '../../peers/groups/object-finder.ts';
import type { Truth } from '../../peers/looking/ask-whether.ts';
import type { FleetPicture } from '../../peers/looking/fleet-view.ts';
import type { KeyLook, LookedPeer } from '../../peers/looking/key-look.ts';
import type { FleetReport, SquidsReport } from '../../peers/peer-report.ts';
import type { PurgeReach } from '../../peers/purges/purge-exchange.ts';
import { DIGEST_PATH } from '../../peers/squids/digest-answer.ts';
import { WarmError } from '../../peers/warming/warm-error.ts';
import type { WarmUp } from '../../peers/warming/warm-up.ts';
import type { PolicyOptions } from '../../policy/index.ts';
import type { Limits } from '../../safety/limits.ts';
import type { ResponseStore } from '../../store/response-store.ts';
import type { ListenAddress } from '../config/listen-address.ts';
import type { NodeConfig } from '../config/node-config.ts';
import { peerCertificates, readPeerCertificates } from '../config/peer-certificates.ts';
import { readPeerSecrets } from '../config/peer-secret.ts';
import type { Certificate } from '../listen/node-servers.ts';
import type { Log } from '../log/log.ts';
import type { NodeFlights, ProxySet } from '../proxy-set.ts';
import { FROM_WORKER, neighbourNames, type Relay } from '../workers/relay.ts';
import type { Team } from '../workers/team.ts';
import { FleetMember } from './fleet-member.ts';
import { prepareMedium } from './media/prepare-medium.ts';
import { NodeWarming } from './node-warming.ts';
import { type FleetAccess, ObjectExchange } from './object-exchange.ts';
import { openPeerPort, type PeerPort } from './peer-port.ts';
import { purgeMemory } from './purge-file.ts';
import { SquidClient } from './squid-client.ts';
import { SquidService } from './squid-service.ts';

export interface NodeNeighboursOptions {
  readonly log: Log;
  /** The other workers of the node, and the way to them; null without workers. */
  readonly team: Team | null;
  readonly relay: Relay | null;
  /** The limits, which a reload changes in place. */
  readonly limits: Limits;
  readonly flights: NodeFlights;
  readonly name: () => string;
  readonly policy: () => PolicyOptions;
  /** The proxies of the running configuration. */
  readonly proxies: () => ProxySet;
  /** The addresses for clients. */
  readonly listen: () => readonly ListenAddress[];
  /** Removes a key that a neighbour purged. */
  readonly remove: (key: string) => Promise<unknown>;
  /** Bytes that can be stored without evicting anything. */
  readonly roomBytes: () => number;
  /** Makes the directory of objects across groups; see `StartOptions`. */
  readonly findObjects: MakeObjectFinder | undefined;
}

/** The most neighbours that a plan asks. */
const MOST_ASKS = 2;

export class NodeNeighbours {
  readonly #options: NodeNeighboursOptions;
  /** This node in its fleet; null if it has no neighbours, or if its primary has them. */
  #member: FleetMember | null = null;
  #exchange: ObjectExchange | null = null;
  /** Warm-ups; null with workers, and without neighbours. */
  #warming: NodeWarming | null = null;
  #peerPort: PeerPort | null = null;
  /** This node as a sibling of Squids; null if it serves none. */
  #squidService: SquidService | null = null;
  /** The Squids that this node asks; null if there are none. */
  #squidClient: SquidClient | null = null;

  constructor(options: NodeNeighboursOptions) {
    this.#options = options;
  }

  /** The address of the peer port, here or in the primary; null if there is none. */
  get listen(): ListenAddress | null {
    return this.#peerPort?.address ?? this.#options.team?.fleet?.listen ?? null;
  }

  /** Responses that were stored before this time are validated at their next use. */
  get validAfter(): number {
    return this.#fleet?.validAfter ?? 0;
  }

  /** The sources that are asked before the origin, if there are any. */
  get sources(): ObjectExchange['sources'] | SquidClient['sources'] | undefined {
    return this.#exchange?.sources ?? this.#squidClient?.sources;
  }

  /** Objects that were served to neighbours, and their bytes. */
  get served(): { readonly served: number; readonly bytes: number; readonly fetched: number } {
    return this.#exchange?.statistics ?? { served: 0, bytes: 0, fetched: 0 };
  }

  /** Joins the fleet, and prepares to serve. Rejects if a file or a package is missing. */
  async join(config: NodeConfig, store: ResponseStore, folder: string | null): Promise<void> {
    await this.#joinFleet(config, store, folder);
    this.#serveSquids(config, store);
  }

  /** Opens the peer port, if this process has it. */
  async open({ peers }: NodeConfig, certificate: Certificate | null): Promise<void> {
    const { limits, name, proxies, log } = this.#options;
    const member = this.#member;
    if (member === null) {
      // With workers, the primary has opened it.
      if (this.listen !== null) proxies().listensOn(this.listen);
      return;
    }
    if (peers?.listen == null) return;
    this.#peerPort = await openPeerPort({
      address: peers.listen,
      certificate,
      certificates: member.certificates,
      limits,
      name,
      handle: (request, response) => {
        if (!member.handle(request, response)) this.#exchange?.handle(request, response);
      },
      failed: (error) => log.event('error', 'accept-failed', { problem: error }),
    });
    member.listen = this.#peerPort.address;
    proxies().listensOn(member.listen);
  }

  /** Begins to publish and to ask, when clients can connect. */
  start(): void {
    this.#exchange?.start();
    this.#squidService?.start();
    this.#squidClient?.start();
  }

  /** Answers a request if it comes from a Squid that asks for a digest. */
  handleDigest(request: IncomingMessage, response: ServerResponse, client: string): boolean {
    if (!this.#squidService?.isDigest(request.url as string)) return false;
    this.#squidService.handle(request, response, client);
    return true;
  }

  /** Answers a relayed request that comes from a neighbour or from another worker. */
  handleRelayed(request: IncomingMessage, response: ServerResponse, client: string): boolean {
    const names = neighbourNames(client);
    if (names !== undefined) this.#exchange?.handle(request, response, names);
    else if (client === FROM_WORKER) this.#squidService?.handleWorker(request, response);
    else return false;
    return true;
  }

  /** The warm-up of this node from a neighbour. Throws if it can have none. */
  get warmUp(): WarmUp {
    if (this.#warming !== null) return this.#warming.up;
    const why = this.#options.team === null ? 'one without neighbours' : 'one with workers';
    throw new WarmError('unsupported', `expected a node with neighbours and without workers, got ${why}`);
  }

  /** Tells a purge to the fleet. Null if there is none. */
  async purge(key: string, waitMs: number): Promise<PurgeReach | null> {
    return this.#fleet?.purge(key, waitMs) ?? null;
  }

  /**
   * Reads the files of a new configuration, and throws if they cannot be used. The function that it
   * returns takes them into use, and cannot fail.
   */
  prepareReload({ peers }: NodeConfig): () => void {
    const member = this.#member;
    if (member === null || peers === null) return () => {};
    const secrets = readPeerSecrets(peers.secretFile);
    const { certificates } = member;
    const pem = certificates === null ? null : readPeerCertificates(peers.certificates!);
    if (pem !== null) checkPem(pem, member.name);
    return () => {
      if (pem !== null) certificates?.change(pem, member.name);
      member.keyring.change(secrets);
      member.changeMembers(peers);
    };
  }

  changeLimits(limits: Limits): void {
    this.#peerPort?.changeLimits(limits);
  }

  changeCertificate(certificate: Certificate): void {
    this.#peerPort?.changeCertificate(certificate);
  }

  fleetReport(): FleetReport | null {
    return this.#member?.report() ?? null;
  }

  squidsReport(): SquidsReport | null {
    const [service, client] = [this.#squidService, this.#squidClient];
    if (service === null && client === null) return null;
    return { served: service?.report ?? null, squids: client?.reports() ?? [] };
  }

  /** Whether neighbours may be told this key. */
  mayName(key: string): boolean {
    return this.#exchange?.mayName(key) ?? this.#squidClient?.neighbours.mayName(key) ?? true;
  }

  /** A look at a key in the summaries of all neighbours, for people. */
  async look(key: string): Promise<KeyLook> {
    const fleet = (await this.#exchange?.look(key)) ?? {
      owner: null,
      isOwner: false,
      peers: [],
      order: [],
    };
    const squids = this.#squidClient?.neighbours.look(key) ?? [];
    const asked = squids.filter(({ answer, why }) => answer === 'maybe' && why === null);
    // As in a plan: Squids come after the neighbours of the fleet, and two are asked at most.
    const rest = asked.slice(0, Math.max(0, MOST_ASKS - fleet.order.length)).map(({ address }) => address);
    return { ...fleet, peers: [...fleet.peers, ...squids], order: [...fleet.order, ...rest] };
  }

  /** Asks a neighbour whether it has an object, and takes no body. */
  askWhether(peer: LookedPeer, key: string): Promise<Truth> {
    return (
      this.#squidClient?.neighbours.askWhether(peer.address, key) ??
      this.#exchange?.askWhether(peer, key) ??
      Promise.resolve('failed')
    );
  }

  /** The whole fleet as all nodes tell it; null without neighbours. */
  async picture(): Promise<FleetPicture | null> {
    return this.#fleet?.picture() ?? null;
  }

  /** Says goodbye. Answers that run go on. */
  drain(): void {
    this.#warming?.close();
    this.#exchange?.leave();
    this.#member?.drain();
  }

  /** Ends all links and the peer port, within the time that is left. */
  async close(leftMs: () => number): Promise<void> {
    await this.#member?.leave();
    await this.#peerPort?.close(leftMs());
    this.#exchange?.close();
    this.#member?.close();
    this.#squidService?.close();
    this.#squidClient?.close();
  }

  /** The fleet as this process reaches it: by itself, or through its primary. */
  get #fleet(): FleetAccess | null {
    return this.#member ?? this.#options.team?.fleet ?? null;
  }

  async #joinFleet(
    { peers, squids }: NodeConfig,
    store: ResponseStore,
    folder: string | null,
  ): Promise<void> {
    const { log, team, limits, name, policy, flights, remove, proxies } = this.#options;
    const event = log.event.bind(log);
    if (squids !== null && squids.addresses.length > 0) {
      const processes = team?.size ?? 1;
      this.#squidClient = new SquidClient({ config: squids, processes, policy, limits, event });
    }
    if (peers === null) return;
    if (team === null) {
      const keyring = new FleetKeyring(readPeerSecrets(peers.secretFile));
      this.#member = new FleetMember({
        config: peers,
        name: name(),
        keyring,
        certificates: peerCertificates(peers.certificates),
        event,
        medium: await prepareMedium(peers),
        purges: purgeMemory(folder),
        remove,
        findObjects: this.#options.findObjects,
      });
    }
    const fleet = this.#fleet;
    if (fleet === null) return;
    this.#exchange = new ObjectExchange({
      fleet,
      config: peers,
      store,
      flights: flights.own,
      policy,
      limits,
      squids: this.#squidClient?.neighbours ?? null,
      fetchForNode: (request, decision) => proxies().proxy.fetchForNode(request, decision),
      event,
    });
    if (this.#member !== null)
      this.#warming = new NodeWarming({
        member: this.#member,
        exchange: this.#exchange,
        config: peers,
        store,
        flights: flights.own,
        policy,
        proxies,
        roomBytes: this.#options.roomBytes,
        event,
      });
  }

  #serveSquids({ squids }: NodeConfig, store: ResponseStore): void {
    if (squids?.digestBits == null) return;
    const { log, team, relay, name, proxies, listen } = this.#options;
    const others = Array.from({ length: team?.size ?? 1 }, (_, worker) => worker).filter(
      (worker) => worker !== (team?.index ?? 0),
    );
    const keysOf = (worker: number, time: number): Promise<Uint8Array> =>
      relay!.fetch(worker, `${DIGEST_PATH}?fresh=${time}`).catch(() => new Uint8Array());
    this.#squidService = new SquidService({
      digestBits: squids.digestBits,
      share: squids.share,
      store,
      name,
      allows: (client) => proxies().allows(client),
      isOwn: (host, port) => listen().some((own) => own.port === port) && proxies().isOwnHost(host),
      others: (time) => Promise.all(others.map((worker) => keysOf(worker, time))),
      event: log.event.bind(log),
    });
  }
}
