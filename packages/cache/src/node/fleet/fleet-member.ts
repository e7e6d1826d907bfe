/**
 * This node as a member of its fleet: one name, one link to each neighbour, one summary, and the
 * knowledge of all the others' summaries.
 *
 * Neighbours come and go with the membership (member-sources.ts): a reload of the settings, or the
 * records of a name in the DNS. Links, tables and the choice of owners follow. Over NATS they come
 * and go by themselves.
 *
 * There is one of it per node. Without workers it is in the same process as the store. With workers
 * it is in the primary, which has no store (`workers/primary-fleet.ts`), and a worker reaches it
 * through `FleetAccess` of object-exchange.ts. We refused one member in each worker: every worker
 * would hold the summaries of all neighbours, and each neighbour would have to know all workers.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Clock, type FleetKeyring, systemClock, type Transport } from '@bloomery/transport';
import { HttpTransport } from '@bloomery/transport/http';
import {
  type LoadedNatsClient,
  loadNatsClient,
  NatsTransport,
  type NatsTransportOptions,
} from '@bloomery/transport/nats';
import type { SummaryVersion } from '../../peers/objects/object-response.ts';
import { type KeyedVersion, OwnSummaries } from '../../peers/own-summaries.ts';
import { refuseQuestion } from '../../peers/peer-entry.ts';
import { PeerHub } from '../../peers/peer-hub.ts';
import { type FleetReport, keyName } from '../../peers/peer-report.ts';
import { PurgeExchange, type PurgeMemory, type PurgeReach } from '../../peers/purges/purge-exchange.ts';
import { formatListen, type ListenAddress } from '../config/listen-address.ts';
import { natsServer, peerUrl } from '../config/nats-config.ts';
import type { PeerConfig } from '../config/peer-config.ts';
import { MemberSources } from './member-sources.ts';
import type { FleetAccess } from './object-exchange.ts';

export interface FleetMemberOptions {
  readonly config: PeerConfig;
  /** The name of the node, unique in the fleet. */
  readonly name: string;
  readonly keyring: FleetKeyring;
  readonly event: (level: 'info' | 'warn' | 'error', name: string, fields: Record<string, unknown>) => void;
  readonly clock?: Clock;
  /** The NATS client, if the settings name a server: `natsClientFor`. */
  readonly client?: LoadedNatsClient | null | undefined;
  /** Keeps the purges of the fleet. By default they are lost at a restart. */
  readonly purges?: PurgeMemory;
  /** Removes the responses of a key that a neighbour purged. */
  readonly remove?: (key: string) => Promise<unknown>;
  /** Called when the version of the summary, or the list of live neighbours, has changed. */
  readonly changed?: () => void;
}

export class FleetMember implements FleetAccess {
  readonly name: string;
  readonly keyring: FleetKeyring;
  readonly directory: PeerHub;
  readonly sink: OwnSummaries;
  readonly #transport: Transport;
  /** The transport, if it is the one over HTTP or the one over NATS. */
  readonly #http: HttpTransport | null;
  readonly #nats: NatsTransport | null;
  readonly #config: PeerConfig;
  readonly #sources: MemberSources;
  readonly #memoryLimitBytes: number;
  readonly #purges: PurgeExchange;
  validAfter = 0;
  #listen: ListenAddress | null = null;
  #isLeaving = false;

  constructor(options: FleetMemberOptions) {
    const { config, name, keyring, event, clock = systemClock, changed, client } = options;
    this.name = name;
    this.#config = config;
    this.keyring = keyring;
    this.#memoryLimitBytes = config.memoryBytes;
    this.#sources = new MemberSources(config, {
      clock,
      listen: () => this.listen ?? config.listen,
      event,
    });
    const identity = { id: name, secret: keyring, clock };
    this.#nats = client == null ? null : natsTransport(config, { ...identity, event }, client);
    this.#http = this.#nats === null ? new HttpTransport({ ...identity, peers: this.#addresses() }) : null;
    this.#transport = (this.#nats ?? this.#http)!;
    this.directory = new PeerHub({
      transport: this.#transport,
      clock,
      keyring,
      budgetMs: config.budgetMs,
      memoryBytes: config.memoryBytes,
      event,
    });
    this.sink = new OwnSummaries({
      transport: this.#transport,
      clock,
      keyring,
      neighbours: this.#addresses().length,
      bandwidth: config.bandwidth,
      work: this.directory.work,
      event,
      ...(changed === undefined ? {} : { published: changed }),
    });
    this.#sources.membership.watch(({ joined, left }) => {
      for (const { address, source } of joined) event('info', 'member-joined', { peer: address, source });
      for (const { address, source } of left) event('info', 'member-left', { peer: address, source });
      const addresses = this.#addresses();
      this.#http?.changePeers(addresses);
      this.sink.neighbours = addresses.length;
    });
    this.#nats?.watchPeers(() => {
      this.sink.neighbours = this.#transport.peers().length;
    });
    this.#purges = new PurgeExchange({
      transport: this.#transport,
      clock,
      memory: options.purges ?? { initial: null, save: () => {} },
      remove: options.remove ?? (() => {}),
      validateAll: (validAfter) => {
        const isNew = validAfter !== this.validAfter;
        this.validAfter = validAfter;
        if (isNew) changed?.();
      },
      event,
    });
    // After the listeners of directory and summaries, which know the change by then.
    if (changed !== undefined) this.#transport.watchPeers(() => changed());
    keyring.watch(() => {
      event('info', 'peer-secrets', { keys: keyring.all.map(({ id }) => keyName(id)) });
      changed?.();
    });
  }

  /** The address of the peer port, once it is open. */
  get listen(): ListenAddress | null {
    return this.#listen;
  }

  set listen(listen: ListenAddress | null) {
    this.#listen = listen;
    if (listen !== null) this.#nats?.announce(this.#config.address ?? peerUrl(listen));
  }

  summary(keyId: number | null): SummaryVersion | null {
    const { versions } = this.sink;
    return versions.find((version) => version.keyId === keyId) ?? versions[0] ?? null;
  }

  /** The versions of all its summaries, the one under the preferred secret first. */
  get summaries(): readonly KeyedVersion[] {
    return this.sink.versions;
  }

  async purge(key: string, waitMs: number): Promise<PurgeReach> {
    return this.#purges.settled(await this.#purges.order(key), waitMs);
  }

  /** The summary is in this process and takes everything at once. */
  async settled(): Promise<void> {}

  /**
   * Answers a request on the peer port that is for summaries or owners, and refuses one that is for
   * another node. Returns false if it is for an object of this node. A node that leaves refuses all
   * of them.
   */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.#http?.handle(request, response)) return true;
    // A question for an object over NATS names the node that it is for.
    const isForOther = this.#http?.isForOther(request.headers.host ?? '') ?? false;
    if (!this.#isLeaving && !isForOther) return false;
    const version = this.summary(null);
    refuseQuestion(response, this.#isLeaving ? nextVersion(version) : version);
    return true;
  }

  /** Takes the neighbours of other settings. */
  changeMembers(config: PeerConfig): void {
    this.#sources.change(config);
  }

  report(): FleetReport {
    const { objects, versions, updates, bytes } = this.sink;
    const { epoch, sequence } = versions[0]!;
    return {
      own: {
        id: this.name,
        listen: this.listen === null ? [] : [formatListen(this.listen)],
        objects: objects[0]!.objects,
        keys: objects.map((each) => ({ id: keyName(each.keyId), objects: each.objects })),
        falsePositiveRate: this.sink.falsePositiveRate,
        generation: `${epoch}.${sequence}`,
        updates,
        bytesPublished: bytes,
        ownerQuestions: this.directory.ownerQuestions,
        memoryBytes: this.directory.summaryMemoryBytes,
        memoryLimitBytes: this.#memoryLimitBytes,
      },
      peers: this.directory.peerReports().map((peer) => {
        const unlisted = { source: this.#nats === null ? 'unknown' : 'nats', name: null };
        const { source, name } = this.#sources.find(peer.address) ?? unlisted;
        return { ...peer, source, dnsName: name };
      }),
      dns: this.#sources.dnsReports(),
      nats: this.#nats?.status() ?? null,
    };
  }

  /**
   * Says goodbye to the neighbours, and refuses their questions from now on. Answers that run go
   * on, and this node still asks neighbours.
   */
  drain(): void {
    this.#isLeaving = true;
    this.#sources.close();
    this.sink.close();
    // Over NATS the goodbye is part of closing.
    this.#http?.leave();
  }

  /** Closes the links. */
  async leave(): Promise<void> {
    this.drain();
    this.#purges.close();
    await this.#transport.close();
  }

  /** Ends the work on summaries. `leave` comes first. */
  close(): void {
    this.directory.close();
  }

  #addresses(): string[] {
    return this.#sources.membership.members().map(({ address }) => address);
  }
}

/** Loads the NATS client if the settings ask for it. Rejects if it is not installed. */
export async function natsClientFor({ nats }: PeerConfig): Promise<LoadedNatsClient | null> {
  return nats === null ? null : loadNatsClient();
}

function natsTransport(
  { nats }: PeerConfig,
  own: Pick<NatsTransportOptions, 'id' | 'secret' | 'clock' | 'event'>,
  client: LoadedNatsClient,
): NatsTransport {
  const { fleet } = nats!;
  // The address follows when the peer port is open.
  return new NatsTransport({ ...own, server: natsServer(nats!), fleet, address: null }, client);
}

/**
 * The version after the last one, in which a node that leaves offers nothing. A neighbour that asks
 * because it has not heard the goodbye finds that its summary was old, and counts no lie.
 */
function nextVersion(version: SummaryVersion | null): SummaryVersion | null {
  return version === null ? null : { ...version, sequence: version.sequence + 1 };
}
