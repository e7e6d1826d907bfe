/**
 * This node as a member of its fleet: one name, one link to each neighbour, one summary, and the
 * knowledge of all the others' summaries.
 *
 * There is one of it per node. Without workers it is in the same process as the store. With workers
 * it is in the primary, which has no store (`workers/primary-fleet.ts`), and a worker reaches it
 * through `FleetAccess` of object-exchange.ts. We refused one member in each worker: every worker
 * would hold the summaries of all neighbours, and each neighbour would have to know all workers.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Clock, fleetKeys, systemClock } from '@bloomery/transport';
import { HttpTransport } from '@bloomery/transport/http';
import type { SummaryVersion } from '../../peers/objects/object-response.ts';
import { OwnSummary } from '../../peers/own-summary.ts';
import { refuseQuestion } from '../../peers/peer-entry.ts';
import { PeerHub } from '../../peers/peer-hub.ts';
import type { FleetReport } from '../../peers/peer-report.ts';
import { formatListen, type ListenAddress } from '../config/listen-address.ts';
import type { PeerConfig } from '../config/peer-config.ts';
import type { FleetAccess } from './object-exchange.ts';

export interface FleetMemberOptions {
  readonly config: PeerConfig;
  /** The name of the node, unique in the fleet. */
  readonly name: string;
  readonly secret: Uint8Array;
  readonly event: (level: 'info' | 'warn' | 'error', name: string, fields: Record<string, unknown>) => void;
  readonly clock?: Clock;
  /** Called when the version of the summary, or the list of live neighbours, has changed. */
  readonly changed?: () => void;
}

export class FleetMember implements FleetAccess {
  readonly name: string;
  readonly secret: Uint8Array;
  readonly directory: PeerHub;
  readonly sink: OwnSummary;
  readonly #transport: HttpTransport;
  readonly #memoryLimitBytes: number;
  /** The address of the peer port, once it is open. */
  listen: ListenAddress | null = null;

  constructor({ config, name, secret, event, clock = systemClock, changed }: FleetMemberOptions) {
    const keys = fleetKeys(secret);
    this.name = name;
    this.secret = secret;
    this.#memoryLimitBytes = config.memoryBytes;
    this.#transport = new HttpTransport({ id: name, secret, peers: config.peers, clock });
    this.directory = new PeerHub({
      transport: this.#transport,
      clock,
      keys,
      budgetMs: config.budgetMs,
      memoryBytes: config.memoryBytes,
      event,
    });
    this.sink = new OwnSummary({
      transport: this.#transport,
      clock,
      keyId: keys.id,
      scheme: keys.summary.scheme,
      neighbours: config.peers.length,
      bandwidth: config.bandwidth,
      work: this.directory.work,
      event,
      ...(changed === undefined ? {} : { published: changed }),
    });
    // After the directory's own listener, which knows the change by then.
    if (changed !== undefined) this.#transport.watchPeers(() => changed());
  }

  get summary(): SummaryVersion {
    return this.sink.version;
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
    refuseQuestion(response, this.summary);
    return true;
  }

  report(): FleetReport {
    return {
      own: {
        id: this.name,
        listen: this.listen === null ? [] : [formatListen(this.listen)],
        objects: this.sink.objects,
        generation: `${this.summary.epoch}.${this.summary.sequence}`,
        updates: this.sink.updates,
        bytesPublished: this.sink.bytes,
        ownerQuestions: this.directory.ownerQuestions,
        memoryBytes: this.directory.summaryMemoryBytes,
        memoryLimitBytes: this.#memoryLimitBytes,
      },
      peers: this.directory.peerReports(),
    };
  }

  /** Closes the links, so that neighbours ask this node for nothing more. */
  async leave(): Promise<void> {
    this.sink.close();
    await this.#transport.close();
  }

  /** Ends the work on summaries. `leave` comes first. */
  close(): void {
    this.directory.close();
  }
}
