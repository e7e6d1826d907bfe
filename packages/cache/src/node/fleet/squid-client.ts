/**
 * The Squids that this node asks: connections of their own, the rules for what may be asked of them
 * and taken from them, and the source for fetches of a node that has no fleet. In a fleet, the
 * object exchange asks them beside the neighbours (`object-exchange.ts`).
 *
 * An answer of a Squid is taken if this node could have stored it and given it to a neighbour
 * itself (`policy/summary-rules.ts`): complete, fresh, for all clients, and selected by fields that
 * the Squid was told. It is stored as a copy, because the Squid keeps the object.
 */

import { type Clock, systemClock } from '@bloomery/transport';
import { NeighbourSource, type NeighbourSourceOptions } from '../../peers/neighbour-source.ts';
import { isSelectedBySentFields } from '../../peers/objects/object-request.ts';
import type { PeerReport } from '../../peers/peer-report.ts';
import { SquidNeighbours } from '../../peers/squids/squid-neighbours.ts';
import { type PolicyOptions, type RequestHead, shareableUntil, toStore, via } from '../../policy/index.ts';
import type { ResponseHead } from '../../policy/message-head.ts';
import { hasSecretQuery } from '../../policy/secret-queries.ts';
import { OriginClient } from '../../proxy/origin/origin-client.ts';
import type { SourcesBeforeOrigin } from '../../proxy/proxy-options.ts';
import { AddressGuard } from '../../safety/address-guard.ts';
import type { Limits } from '../../safety/limits.ts';
import type { SquidConfig } from '../config/squid-config.ts';

export interface SquidClientOptions {
  readonly config: SquidConfig;
  /** The processes of this node, each of which has the digests for itself. */
  readonly processes: number;
  readonly policy: () => PolicyOptions;
  readonly limits: Limits;
  readonly event: (level: 'info' | 'warn' | 'error', name: string, fields: Record<string, unknown>) => void;
  readonly clock?: Clock;
}

export class SquidClient {
  readonly neighbours: SquidNeighbours;
  /** The sources of a fetch before its origin, for a node without a fleet. */
  readonly sources: SourcesBeforeOrigin;
  readonly #client: OriginClient;

  constructor(options: SquidClientOptions) {
    const { config, processes, policy, limits, event } = options;
    const { addresses, budgetMs, memoryBytes, share } = config;
    const clock = options.clock ?? systemClock;
    this.#client = new OriginClient({
      limits,
      timers: clock,
      addresses: new AddressGuard({ allowPrivate: true, allow: [], deny: [] }),
      problem: (problem) => event('error', 'squid-client', { problem }),
    });
    this.neighbours = new SquidNeighbours({
      addresses,
      clock,
      client: this.#client,
      via: () => via(policy()),
      budgetMs,
      memoryBytes: Math.floor(memoryBytes / processes),
      mayName: (key) => !hasSecretQuery(key) || share.some((prefix) => key.startsWith(prefix)),
      accepts: (request, head) => isUsable(request, head, clock.now(), policy(), share),
      event,
    });
    const port = this.neighbours.beside(null);
    const fetching = {
      tools: { clock, headTimeoutMs: limits.originHeadTimeoutMs },
      newAsk: (...[neighbour, request, , listener]: Parameters<NeighbourSourceOptions['newAsk']>) =>
        this.neighbours.newAsk(neighbour, request, listener)!,
      port,
      budgetMs,
      copies: true,
    };
    this.sources = (request, _route, decision, origin) =>
      decision.kind === 'fetch' && decision.shareable
        ? [new NeighbourSource({ ...fetching, request, origin })]
        : [];
  }

  /** Begins to fetch digests. */
  start(): void {
    this.neighbours.start();
  }

  reports(): PeerReport[] {
    return this.neighbours.reports();
  }

  close(): void {
    this.neighbours.close();
    this.#client.close();
  }
}

function isUsable(
  request: RequestHead,
  head: ResponseHead,
  now: number,
  policy: PolicyOptions,
  share: readonly string[],
): boolean {
  const stored = toStore(request, head, { requestTime: now, responseTime: now }, policy);
  if (stored === null || (shareableUntil(stored, { share }) ?? 0) <= now) return false;
  return isSelectedBySentFields(head.headers, request.headers);
}
