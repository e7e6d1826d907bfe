/**
 * This node as a member of its fleet: one name, one link to each neighbour, one summary, and the
 * knowledge of all the others' summaries.
 *
 * The medium (media/fleet-medium.ts) knows how the nodes find each other and talk. Tables and the
 * choice of owners follow its neighbours.
 *
 * With `--group`, summaries and questions to owners stay among the nodes of one group, and
 * `BetweenGroups` knows the nodes of the others. Purges go to all nodes of the fleet.
 *
 * There is one of it per node. Without workers it is in the same process as the store. With workers
 * it is in the primary, which has no store (`workers/primary-fleet.ts`), and a worker reaches it
 * through `FleetAccess` of object-exchange.ts. We refused one member in each worker: every worker
 * would hold the summaries of all neighbours, and each neighbour would have to know all workers.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Clock, type FleetKeyring, systemClock, type Transport } from '@bloomery/transport';
import type { FleetCertificates } from '@bloomery/transport/http';
import { GroupTransport, LeaderBeats } from '@bloomery/transport/membership';
import { BetweenGroups, MIXED } from '../../peers/groups/between-groups.ts';
import { FindingDirectory } from '../../peers/groups/finding-directory.ts';
import type { MakeObjectFinder, ObjectFinder } from '../../peers/groups/object-finder.ts';
import { type FleetPicture, FleetViews, type NodeView } from '../../peers/looking/fleet-view.ts';
import type { KeyLook } from '../../peers/looking/key-look.ts';
import type { KeyedHash, NeighbourDirectory } from '../../peers/neighbour-port.ts';
import type { SummaryVersion } from '../../peers/objects/object-response.ts';
import { type KeyedVersion, OwnSummaries } from '../../peers/own-summaries.ts';
import { refuseQuestion } from '../../peers/peer-entry.ts';
import { PeerHub } from '../../peers/peer-hub.ts';
import { type FleetReport, type GroupsReport, generationName, keyName } from '../../peers/peer-report.ts';
import { PurgeExchange, type PurgeMemory, type PurgeReach } from '../../peers/purges/purge-exchange.ts';
import { formatListen, type ListenAddress } from '../config/listen-address.ts';
import type { PeerConfig } from '../config/peer-config.ts';
import type { FleetMedium, MakeMedium } from './media/fleet-medium.ts';
import type { FleetAccess } from './object-exchange.ts';
import { UnreachedWatch } from './unreached-watch.ts';

export interface FleetMemberOptions {
  readonly config: PeerConfig;
  /** The name of the node, unique in the fleet. */
  readonly name: string;
  readonly keyring: FleetKeyring;
  /** The certificates for mutual TLS, or null if the secret alone says who a neighbour is. */
  readonly certificates?: FleetCertificates | null;
  readonly event: (level: 'info' | 'warn' | 'error', name: string, fields: Record<string, unknown>) => void;
  readonly clock?: Clock;
  /** Makes the medium of the settings: `prepareMedium`. */
  readonly medium: MakeMedium;
  /** Keeps the purges of the fleet. By default they are lost at a restart. */
  readonly purges?: PurgeMemory;
  /** Removes the responses of a key that a neighbour purged. */
  readonly remove?: (key: string) => Promise<unknown>;
  /** Makes the directory of objects across groups, for `--group-find`. */
  readonly findObjects?: MakeObjectFinder | undefined;
  /** Called when the version of the summary, or the list of live neighbours, has changed. */
  readonly changed?: () => void;
}

/** The beats of a leader that its group may miss. */
const BEATS_PER_PATIENCE = 6;

export class FleetMember implements FleetAccess {
  readonly name: string;
  readonly keyring: FleetKeyring;
  readonly certificates: FleetCertificates | null;
  readonly hub: PeerHub;
  readonly directory: NeighbourDirectory;
  readonly sink: OwnSummaries;
  readonly #medium: FleetMedium;
  /** The transport that reaches all nodes of the fleet. */
  readonly #transport: Transport;
  /** The transport that reaches the nodes with which summaries are exchanged. */
  readonly near: Transport;
  /** The election and the other groups, or null if this node is in no group. */
  readonly #groups: { readonly beats: LeaderBeats; readonly between: BetweenGroups } | null;
  /** The directory of objects across groups, or null without --group-find. */
  readonly #finder: ObjectFinder | null;
  readonly #memoryLimitBytes: number;
  readonly #purges: PurgeExchange;
  readonly #unreached: UnreachedWatch;
  readonly #views: FleetViews;
  validAfter = 0;
  #listen: ListenAddress | null = null;
  #isLeaving = false;

  constructor(options: FleetMemberOptions) {
    const { config, name, keyring, event, clock = systemClock, changed } = options;
    this.name = name;
    this.keyring = keyring;
    const { certificates = null } = options;
    this.certificates = certificates;
    this.#memoryLimitBytes = config.memoryBytes;
    this.#medium = options.medium({ name, keyring, certificates, clock, event });
    this.#transport = this.#medium.transport;
    // Groups exist only over NATS. There, nodes without a group do not see those in groups.
    const near =
      config.nats === null
        ? this.#transport
        : new GroupTransport(this.#transport, config.group?.name ?? null);
    this.near = near;
    this.#groups = this.#joinGroup(options, near);
    this.hub = new PeerHub({
      transport: near,
      clock,
      keyring,
      budgetMs: config.budgetMs,
      memoryBytes: config.memoryBytes,
      event,
      groups: this.#groups?.between,
    });
    this.#finder = this.#joinFinder(options);
    this.directory = this.#newDirectory(config.budgetMs);
    this.sink = new OwnSummaries({
      transport: near,
      clock,
      keyring,
      neighbours: near.peers().length,
      bandwidth: config.bandwidth,
      work: this.hub.work,
      event,
      ...(changed === undefined ? {} : { published: changed }),
      held: this.#finder?.changed.bind(this.#finder),
    });
    this.#transport.watchPeers(() => {
      this.sink.neighbours = near.peers().length;
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
    this.#views = new FleetViews({
      transport: this.#transport,
      clock,
      own: () => this.#view(),
      address: () => this.#address,
    });
    this.#unreached = new UnreachedWatch({ transport: this.#transport, clock, event });
    // This listener comes after those of the directory and the summaries, so they know the change
    // when `changed` is called.
    if (changed !== undefined) this.#transport.watchPeers(() => changed());
    keyring.watch(() => {
      event('info', 'peer-secrets', { keys: keyring.all.map(({ id }) => keyName(id)) });
      changed?.();
    });
    certificates?.watch(() => event('info', 'peer-certificates', { names: certificates.names }));
  }

  /** The address of the peer port, once it is open. */
  get listen(): ListenAddress | null {
    return this.#listen;
  }

  set listen(listen: ListenAddress | null) {
    this.#listen = listen;
    if (listen !== null) this.#medium.announce(listen);
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

  async look(hashes: readonly KeyedHash[]): Promise<KeyLook> {
    const look = this.hub.look(hashes);
    return { ...look, owner: look.isOwner ? this.#address : look.owner };
  }

  picture(): Promise<FleetPicture> {
    return this.#views.picture();
  }

  /** The address of this node, as its neighbours may know it. */
  get #address(): string {
    return this.listen === null ? this.name : formatListen(this.listen);
  }

  #view(): NodeView {
    const groups = this.#groups?.between.status() ?? null;
    return {
      group: groups?.group ?? null,
      isLeader: groups?.isLeader ?? false,
      objects: this.sink.objects[0]!.objects,
      links: this.hub
        .peerReports()
        .filter(({ state }) => state !== 'self')
        .map(({ id, address, state, masked, objects, trueHits, falseHits }) => ({
          id,
          address,
          state: state === 'down' ? 2 : masked === null ? 0 : 1,
          objects,
          trueHits,
          falseHits,
        })),
    };
  }

  /** The summary is in this process and takes everything at once. */
  async settled(): Promise<void> {}

  /**
   * Answers a request on the peer port that is for summaries or owners, and refuses one that is for
   * another node. Returns false if it is for an object of this node. A node that leaves refuses all
   * of them.
   */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.#medium.handle(request, response)) return true;
    if (!this.#isLeaving && !this.#medium.isForOther(request.headers.host ?? '')) return false;
    const version = this.summary(null);
    refuseQuestion(response, this.#isLeaving ? nextVersion(version) : version);
    return true;
  }

  /** Takes over the neighbours of new settings. */
  changeMembers(config: PeerConfig): void {
    this.#medium.changeMembers(config);
  }

  report(): FleetReport {
    const { objects, versions, updates, bytes, sizes } = this.sink;
    const groups = this.#groupsReport();
    return {
      own: {
        id: this.name,
        listen: this.listen === null ? [] : [formatListen(this.listen)],
        objects: objects[0]!.objects,
        keys: objects.map((each) => ({ id: keyName(each.keyId), objects: each.objects })),
        falsePositiveRate: this.sink.falsePositiveRate,
        generation: generationName(versions[0]!),
        updates,
        bytesPublished: bytes,
        fullBytes: sizes.fullBytes,
        deltaBytes: sizes.deltaBytes,
        universe: sizes.universe,
        ownerQuestions: this.hub.ownerQuestions,
        memoryBytes: this.hub.summaryMemoryBytes,
        memoryLimitBytes: this.#memoryLimitBytes,
      },
      peers: this.hub.peerReports().map((peer) => ({
        ...peer,
        ...this.#medium.sourceOf(peer.address),
        isLeader: peer.id !== null && peer.id === groups?.leader,
      })),
      totals: this.hub.totals,
      ...this.#medium.status(),
      groups,
    };
  }

  /**
   * Says goodbye to the neighbours, and refuses their questions from now on. Answers that run go
   * on, and this node still asks neighbours.
   */
  drain(): void {
    this.#isLeaving = true;
    this.sink.close();
    this.#medium.leave();
  }

  /** Closes the links. */
  async leave(): Promise<void> {
    this.drain();
    this.#unreached.close();
    this.#purges.close();
    this.#views.close();
    this.#groups?.beats.close();
    this.#groups?.between.close();
    this.#finder?.close();
    await this.#transport.close();
  }

  /** Takes part in the election of the group, and learns of the others. Null without a group. */
  #joinGroup(
    { config, keyring, event, clock = systemClock }: FleetMemberOptions,
    near: Transport,
  ): { readonly beats: LeaderBeats; readonly between: BetweenGroups } | null {
    if (config.group === null) {
      this.#warnOfGroups(event);
      return null;
    }
    const { name: group, patienceMs } = config.group;
    const beats = new LeaderBeats({
      transport: near,
      clock,
      patienceMs,
      beatMs: patienceMs / BEATS_PER_PATIENCE,
      claimed: ({ epoch }) => event('info', 'group-lead', { group, epoch }),
    });
    const { budgetMs } = config;
    const fleet = this.#transport;
    const between = new BetweenGroups({ group, fleet, beats, clock, keyring, budgetMs, patienceMs, event });
    return { beats, between };
  }

  /** Makes the finder of the settings. Null without a group, and without --group-find. */
  #joinFinder({ config, findObjects, event, clock = systemClock }: FleetMemberOptions): ObjectFinder | null {
    if (config.group?.isFinding !== true) return null;
    if (findObjects !== undefined) return findObjects({ transport: this.#transport, clock });
    event('warn', 'group-find-missing', {
      effect: 'this program has no finder, so --group-find does nothing',
    });
    return null;
  }

  #newDirectory(budgetMs: number): NeighbourDirectory {
    const { hub } = this;
    const between = this.#groups?.between;
    if (this.#finder === null || between === undefined) return hub;
    const commonHash = between.commonHash.bind(between);
    return new FindingDirectory({ hub, finder: this.#finder, commonHash, budgetMs });
  }

  /** The groups as the report has them. */
  #groupsReport(): GroupsReport | null {
    if (this.#groups === null) return null;
    const { directory } = this;
    const finds = directory instanceof FindingDirectory ? directory.finds : null;
    return { ...this.#groups.between.status(), finds };
  }

  /** A node without a group tells the operator once if others are in groups. */
  #warnOfGroups(event: FleetMemberOptions['event']): void {
    const stop = this.#transport.watchPeers(({ state, group, address, id }) => {
      if (state !== 'up' || group == null) return;
      stop();
      event('warn', 'groups-mixed', { peer: address, id, effect: MIXED });
    });
  }

  /** Ends the work on summaries. `leave` comes first. */
  close(): void {
    this.hub.close();
  }
}

/**
 * The version after the last one, in which a node that leaves offers nothing. A neighbour that asks
 * because it has not heard the goodbye learns that the summary it holds was old, and does not count
 * the refusal against this node.
 */
function nextVersion(version: SummaryVersion | null): SummaryVersion | null {
  return version === null ? null : { ...version, sequence: version.sequence + 1 };
}
