/**
 * The summaries that this node publishes: one for each secret of the fleet that it knows
 * (own-summary.ts). There are two while the operator changes the secret. They are two sessions on
 * one topic, told apart by the key id, so that a neighbour that knows one of the secrets alone is
 * not blind. Each costs 35 bytes of memory per object and its own messages.
 *
 * A summary under a new secret begins empty: hashes under one secret say nothing about those under
 * another. The caller tells all its keys again when the keyring has changed.
 */

import type { Cancel, FleetKeyring, FleetKeys, Service } from '@bloomery/transport';
import type { KeyedHash } from './neighbour-port.ts';
import type { SummaryVersion } from './objects/object-response.ts';
import { OwnSummary, type OwnSummaryOptions } from './own-summary.ts';
import type { SummarySink } from './summary-feed.ts';
import { SUMMARY_TOPIC } from './summary-follower.ts';

export interface OwnSummariesOptions extends Omit<OwnSummaryOptions, 'keyId' | 'scheme'> {
  readonly keyring: FleetKeyring;
}

/** The version of the summary under one secret. */
export interface KeyedVersion extends SummaryVersion {
  readonly keyId: number;
}

export class OwnSummaries implements SummarySink {
  readonly #options: OwnSummariesOptions;
  readonly #summaries = new Map<number, { readonly keys: FleetKeys; readonly summary: OwnSummary }>();
  /** The answers of the summaries to requests on their common topic. */
  readonly #services = new Set<Service>();
  readonly #cancels: readonly Cancel[];
  #neighbours: number;
  #updates = 0;
  #bytes = 0;

  constructor(options: OwnSummariesOptions) {
    this.#options = options;
    this.#neighbours = options.neighbours;
    this.#follow();
    this.#cancels = [
      options.transport.serve(SUMMARY_TOPIC, (body, from) => this.#answer(body, from)),
      options.keyring.watch(() => this.#follow()),
    ];
  }

  /** `part` names the process that holds the key, 0 to 255. A hash of another secret is ignored. */
  keep({ keyId, low, high }: KeyedHash, until: number, part = 0): void {
    const own = this.#summaries.get(keyId);
    own?.summary.keep({ scheme: own.keys.summary.scheme, low, high }, until, part);
  }

  drop({ keyId, low, high }: KeyedHash): void {
    const own = this.#summaries.get(keyId);
    own?.summary.drop({ scheme: own.keys.summary.scheme, low, high });
  }

  /** Drops everything that an ended process told. Calls `done` when nothing of it is left. */
  dropPart(part: number, done: () => void): void {
    let left = this.#summaries.size;
    for (const { summary } of [...this.#summaries.values()])
      summary.dropPart(part, () => {
        if (--left === 0) done();
      });
  }

  /** Sets the number of neighbours. The summaries become finer if there are more of them. */
  set neighbours(count: number) {
    if (count === this.#neighbours) return;
    this.#neighbours = count;
    for (const { summary } of this.#summaries.values()) summary.neighbours = count;
  }

  /** Objects under each secret, in the order of the keyring. */
  get objects(): readonly { readonly keyId: number; readonly objects: number }[] {
    return this.#inOrder().map(({ keys, summary }) => ({ keyId: keys.id, objects: summary.objects }));
  }

  /** Share of the keys that are not here for which the first summary says "maybe". */
  get falsePositiveRate(): number {
    return this.#inOrder()[0]!.summary.falsePositiveRate;
  }

  /** The sizes of the first summary. */
  get sizes(): Pick<OwnSummary, 'universe' | 'fullBytes' | 'deltaBytes'> {
    return this.#inOrder()[0]!.summary;
  }

  /** The version of each summary, in the order of the keyring. */
  get versions(): readonly KeyedVersion[] {
    return this.#inOrder().map(({ keys, summary }) => ({ keyId: keys.id, ...summary.version }));
  }

  /** Messages that were published. */
  get updates(): number {
    return this.#inOrder().reduce((sum, { summary }) => sum + summary.updates, this.#updates);
  }

  /** Bytes of those messages, counted once for all neighbours. */
  get bytes(): number {
    return this.#inOrder().reduce((sum, { summary }) => sum + summary.bytes, this.#bytes);
  }

  close(): void {
    for (const cancel of this.#cancels) cancel();
    for (const { summary } of this.#summaries.values()) summary.close();
  }

  /** Opens and closes summaries, so that there is one for each secret of the keyring. */
  #follow(): void {
    const { keyring, transport, ...rest } = this.#options;
    for (const [keyId, { summary }] of this.#summaries) {
      if (keyring.find(keyId) !== undefined) continue;
      this.#updates += summary.updates;
      this.#bytes += summary.bytes;
      summary.close();
      this.#summaries.delete(keyId);
    }
    for (const keys of keyring.all) {
      if (this.#summaries.has(keys.id)) continue;
      // There is one place for a state. It is that of the secret that all nodes should know.
      const hasPlace = transport.leaveState !== undefined && keys === keyring.first;
      const shared = {
        ...(hasPlace ? { leaveState: transport.leaveState!.bind(transport) } : {}),
        publish: transport.publish.bind(transport),
        serve: (_topic: string, service: Service) => {
          this.#services.add(service);
          return () => void this.#services.delete(service);
        },
      };
      const own = {
        transport: shared,
        keyId: keys.id,
        scheme: keys.summary.scheme,
        neighbours: this.#neighbours,
      };
      this.#summaries.set(keys.id, { keys, summary: new OwnSummary({ ...rest, ...own }) });
    }
  }

  #inOrder(): { readonly keys: FleetKeys; readonly summary: OwnSummary }[] {
    return this.#options.keyring.all.flatMap(({ id }) => this.#summaries.get(id) ?? []);
  }

  /** A summary answers requests to others with nothing. */
  async #answer(body: Uint8Array, from: string): Promise<Uint8Array> {
    for (const service of this.#services) {
      const answer = await service(body, from);
      if (answer.length > 0) return answer;
    }
    return new Uint8Array(0);
  }
}
