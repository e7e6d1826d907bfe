/**
 * This node as a member of its fleet: one name, one link to each neighbour, one summary, and the
 * knowledge of all the others' summaries.
 *
 * Neighbours come and go with the membership (member-sources.ts): a reload of the settings, or the
 * records of a name in the DNS. Links, tables and the choice of owners follow.
 *
 * There is one of it per node. Without workers it is in the same process as the store. With workers
 * it is in the primary, which has no store (`workers/primary-fleet.ts`), and a worker reaches it
 * through `FleetAccess` of object-exchange.ts. We refused one member in each worker: every worker
 * would hold the summaries of all neighbours, and each neighbour would have to know all workers.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Clock, type FleetKeyring, systemClock } from '@bloomery/transport';
import { HttpTransport } from '@bloomery/transport/http';
import type { SummaryVersion } from '../../peers/objects/object-response.ts';
import { type KeyedVersion, OwnSummaries } from '../../peers/own-summaries.ts';
import { refuseQuestion } from '../../peers/peer-entry.ts';
import { PeerHub } from '../../peers/peer-hub.ts';
import { type FleetReport, keyName } from '../../peers/peer-report.ts';
import { formatListen, type ListenAddress } from '../config/listen-address.ts';
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
  /** Called when the version of the summary, or the list of live neighbours, has changed. */
  readonly changed?: () => void;
}

export class FleetMember implements FleetAccess {
  readonly name: string;
  readonly keyring: FleetKeyring;
  readonly directory: PeerHub;
  readonly sink: OwnSummaries;
  readonly #transport: HttpTransport;
  readonly #sources: MemberSources;
  readonly #memoryLimitBytes: number;
  /** The address of the peer port, once it is open. */
  listen: ListenAddress | null = null;

  constructor({ config, name, keyring, event, clock = systemClock, changed }: FleetMemberOptions) {
    this.name = name;
    this.keyring = keyring;
    this.#memoryLimitBytes = config.memoryBytes;
    this.#sources = new MemberSources(config, {
      clock,
      listen: () => this.listen ?? config.listen,
      event,
    });
    this.#transport = new HttpTransport({ id: name, secret: keyring, peers: this.#addresses(), clock });
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
      this.#transport.changePeers(addresses);
      this.sink.neighbours = addresses.length;
    });
    // After the listeners of directory and summaries, which know the change by then.
    if (changed !== undefined) this.#transport.watchPeers(() => changed());
    keyring.watch(() => {
      event('info', 'peer-secrets', { keys: keyring.all.map(({ id }) => keyName(id)) });
      changed?.();
    });
  }

  summary(keyId: number | null): SummaryVersion | null {
    const { versions } = this.sink;
    return versions.find((version) => version.keyId === keyId) ?? versions[0] ?? null;
  }

  /** The versions of all its summaries, the one under the preferred secret first. */
  get summaries(): readonly KeyedVersion[] {
    return this.sink.versions;
  }

  /** The summary is in this process and takes everything at once. */
  async settled(): Promise<void> {}

  /**
   * Answers a request on the peer port that is for summaries or owners, and refuses one that is for
   * another node. Returns false if it is for an object of this node.
   */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.#transport.handle(request, response)) return true;
    if (!this.#transport.isForOther(request.headers.host ?? '')) return false;
    refuseQuestion(response, this.summary(null));
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
        const { source = 'unknown', name = null } = this.#sources.find(peer.address) ?? {};
        return { ...peer, source, dnsName: name };
      }),
      dns: this.#sources.dnsReports(),
    };
  }

  /** Closes the links, so that neighbours ask this node for nothing more. */
  async leave(): Promise<void> {
    this.#sources.close();
    this.sink.close();
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
