/**
 * Warm-ups of this node and of its neighbours, connected with the store, the exchange of objects
 * and the fleet. It is for nodes without workers: with them, the primary has the links and no
 * store, so neither side of a comparison would have its objects at hand.
 */

import { type Clock, systemClock } from '@bloomery/transport';
import type { Neighbour } from '../../peers/neighbour-port.ts';
import { keyOfTarget } from '../../peers/objects/object-request.ts';
import type { WarmObject } from '../../peers/warming/decisions/warm-message.ts';
import { isTellable, readObjects } from '../../peers/warming/offered-objects.ts';
import { WarmService } from '../../peers/warming/warm-service.ts';
import { type WarmFetchEnd, WarmUp } from '../../peers/warming/warm-up.ts';
import { decide, type PolicyOptions, shareableUntil } from '../../policy/index.ts';
import { hasSecretQuery } from '../../policy/secret-queries.ts';
import type { ProxyFlight, ProxyFlights } from '../../proxy/flight/shared-response.ts';
import type { ResponseStore } from '../../store/response-store.ts';
import type { PeerConfig } from '../config/peer-config.ts';
import type { ProxySet } from '../proxy-set.ts';
import type { FleetMember } from './fleet-member.ts';
import type { ObjectExchange } from './object-exchange.ts';

export interface NodeWarmingOptions {
  readonly member: FleetMember;
  readonly exchange: ObjectExchange;
  readonly config: PeerConfig;
  readonly store: ResponseStore;
  readonly flights: ProxyFlights;
  readonly policy: () => PolicyOptions;
  readonly proxies: () => ProxySet;
  /** Bytes that can be stored without evicting anything. */
  readonly roomBytes: () => number;
  readonly event: (level: 'info' | 'warn', name: string, fields: Record<string, unknown>) => void;
  readonly clock?: Clock;
}

export class NodeWarming {
  readonly #options: NodeWarmingOptions;
  readonly #service: WarmService;
  readonly #clock: Clock;
  readonly up: WarmUp;

  constructor(options: NodeWarmingOptions) {
    const { member, config, store, event, roomBytes, clock = systemClock } = options;
    const { near: transport, keyring } = member;
    this.#options = options;
    this.#clock = clock;
    const pause = () => new Promise<void>((resolve) => void clock.after(0, resolve));
    const objects = {
      store,
      shareableUntil: (response: Parameters<typeof shareableUntil>[0]) =>
        shareableUntil(response, { share: config.share }),
      now: () => clock.now(),
      pause,
    };
    this.#service = new WarmService({
      transport,
      clock,
      keyring,
      read: (signal) => readObjects(objects, { withCopies: config.mode !== 'single', signal }),
      pause,
      event,
    });
    this.up = new WarmUp({
      transport,
      clock,
      keyOf: (keyId) => (keyId === null ? undefined : keyring.find(keyId)) ?? keyring.first,
      read: (signal) => readObjects(objects, { withCopies: true, signal }),
      roomBytes,
      fetch: (object, from) => this.#fetch(object, from),
      pause,
      event,
    });
  }

  close(): void {
    this.up.stop();
    this.#service.close();
  }

  async #fetch({ key, varied }: WarmObject, from: Neighbour): Promise<WarmFetchEnd> {
    const { store, policy, proxies, exchange, config, event } = this.#options;
    // The key comes from a neighbour: it must be one that this node would ask neighbours for.
    const isNamed = !hasSecretQuery(key) || config.share.some((prefix) => key.startsWith(prefix));
    if (keyOfTarget(key) !== key || !isNamed || !isTellable(varied)) return 'skipped';
    const headers = varied.flatMap(([name, value]) => (value === null ? [] : [name, value]));
    const request = { method: 'GET', key, headers };
    try {
      const before = decide(request, await store.peek(key), this.#clock.now(), policy());
      if (before.kind === 'serve' && !before.stale) return 'present';
      if (before.kind !== 'fetch') return 'skipped';
      const flight = proxies().proxy.fetchFrom(request, before, exchange.sourceOf(from, request));
      if (flight === null) return 'skipped';
      await this.#ended(flight);
      // This counts as a use, so a store with a disk writes the response there.
      const after = decide(request, await store.find(key), this.#clock.now(), policy());
      return after.kind === 'serve' && !after.stale ? 'stored' : 'refused';
    } catch (problem) {
      event('warn', 'warm-fetch', { key, problem });
      return 'refused';
    }
  }

  #ended(flight: ProxyFlight): Promise<void> {
    const { flights } = this.#options;
    return new Promise((resolve) => {
      if (flight.ended) resolve();
      const stop = flights.watch((changed) => {
        if (changed !== flight || !flight.ended) return;
        stop();
        resolve();
      });
      if (flight.ended) stop();
    });
  }
}
