/**
 * Counts everything that `FleetResult` tells, during a run. `reset` ends the warm-up. A request
 * that began before it and ends after it is in neither part, so that the answers add up to the
 * requests.
 */

import type { FetchedFrom } from './fleet-policy.ts';
import {
  type AnswerSource,
  type BetweenGroups,
  type FleetResult,
  MESSAGE_KINDS,
  type MessageKind,
  type SeriesPoint,
  type SummaryMemory,
} from './fleet-result.ts';

/** One request of a client, from its beginning to its answer. */
export interface OpenRequest {
  readonly beganMs: number;
  readonly bytes: number;
  /** The part of the run in which it began. */
  readonly part: number;
}

export class FleetCounts {
  readonly #nodes: number;
  readonly #seriesEvery: number;
  #part = 0;
  #beganMs = 0;
  #requests = 0;
  #answers = { local: 0, neighbour: 0, origin: 0 };
  #bytes = { local: 0, neighbour: 0, origin: 0 };
  #joined = 0;
  #falseHits = 0;
  #lostHits = 0;
  #messages = noMessages();
  #messageBytes = noMessages();
  #objectBytes = 0;
  #roundTrips = 0;
  #between = noTraffic();
  /** Questions about keys that each leader answered, by the number of its group. */
  #leaders = new Map<number, number>();
  #latencies = new Samples();
  #served: Float64Array;
  #toldObjects = 0;
  #toldWaitMs = 0;
  #series: SeriesPoint[] = [];
  #seriesFrom = { local: 0, neighbour: 0, origin: 0 };

  /** `seriesEvery`: requests per point of the series; Infinity for no series. */
  constructor(nodes: number, seriesEvery: number) {
    this.#nodes = nodes;
    this.#seriesEvery = seriesEvery;
    this.#served = new Float64Array(nodes);
  }

  /** Forgets everything, and counts again from this time on. */
  reset(nowMs: number): void {
    this.#part++;
    this.#beganMs = nowMs;
    this.#requests = 0;
    this.#answers = { local: 0, neighbour: 0, origin: 0 };
    this.#bytes = { local: 0, neighbour: 0, origin: 0 };
    this.#joined = this.#falseHits = this.#lostHits = this.#objectBytes = this.#roundTrips = 0;
    this.#between = noTraffic();
    this.#leaders = new Map();
    this.#messages = noMessages();
    this.#messageBytes = noMessages();
    this.#latencies = new Samples();
    this.#served = new Float64Array(this.#nodes);
    this.#toldObjects = this.#toldWaitMs = 0;
    this.#series = [];
    this.#seriesFrom = { ...this.#answers };
  }

  /** A client asks a node. Exactly one `answered` follows. */
  began(node: number, bytes: number, nowMs: number): OpenRequest {
    this.#requests++;
    this.#served[node]!++;
    return { beganMs: nowMs, bytes, part: this.#part };
  }

  /** `joined`: the request waited for a fetch that another request of its node had begun. */
  answered(request: OpenRequest, source: AnswerSource, nowMs: number, joined = false): void {
    if (request.part !== this.#part) return;
    this.#answers[source]++;
    this.#bytes[source] += request.bytes;
    if (joined) this.#joined++;
    this.#latencies.add(nowMs - request.beganMs);
    const { local, neighbour, origin } = this.#answers;
    if ((local + neighbour + origin) % this.#seriesEvery === 0) this.#point(local + neighbour + origin);
  }

  /** A node asks another one for an object. */
  asked(node: number): void {
    this.#served[node]!++;
  }

  /** An object goes from one node to another. */
  transferred(bytes: number): void {
    this.#objectBytes += bytes;
  }

  /** An object goes to a node from one of another group, which had it or got it from the origin. */
  transferredBetween(bytes: number, from: FetchedFrom): void {
    this.transferred(bytes);
    this.#between.objectBytes += bytes;
    if (from === 'neighbour') this.#between.hits++;
  }

  /** A request of a client waits for a round trip between two nodes. */
  waited(): void {
    this.#roundTrips++;
  }

  /** The leader of a group is asked about a key. */
  askedLeader(group: number): void {
    this.#leaders.set(group, (this.#leaders.get(group) ?? 0) + 1);
  }

  falseHit(): void {
    this.#falseHits++;
  }

  lostHit(): void {
    this.#lostHits++;
  }

  /** The same message goes to a number of receivers. */
  sent(kind: MessageKind, bytes: number, receivers = 1): void {
    this.#messages[kind] += receivers;
    this.#messageBytes[kind] += receivers * bytes;
  }

  /** The same, between nodes of different groups. */
  sentBetween(kind: MessageKind, bytes: number, receivers = 1): void {
    this.sent(kind, bytes, receivers);
    if (kind !== 'heartbeat') this.#between.messages += receivers;
    this.#between.messageBytes += receivers * bytes;
  }

  /** Neighbours know of objects from now on that were stored `waitMs` ago, summed over them. */
  told(objects: number, waitMs: number): void {
    this.#toldObjects += objects;
    this.#toldWaitMs += waitMs;
  }

  /** The figures at this time; later calls do not change them. */
  result(
    nowMs: number,
    held: { readonly distinct: number; readonly all: number },
    summaryMemory: SummaryMemory | null = null,
  ): FleetResult {
    const { local, neighbour, origin } = this.#answers;
    const mean = this.#served.reduce((sum, count) => sum + count, 0) / this.#nodes;
    return {
      requests: this.#requests,
      localHits: local,
      joinedFetches: this.#joined,
      neighbourHits: neighbour,
      originFetches: origin,
      bytesBySource: { ...this.#bytes },
      falseHits: this.#falseHits,
      lostHits: this.#lostHits,
      messages: { ...this.#messages },
      messageBytes: { ...this.#messageBytes },
      objectBytes: this.#objectBytes,
      betweenGroups: { ...this.#between, busiestLeader: Math.max(0, ...this.#leaders.values()) },
      roundTrips: this.#roundTrips,
      summaryMemory,
      latencyMs: this.#latencies.summary(),
      skew: mean === 0 ? 1 : Math.max(...this.#served) / mean,
      distinctObjects: held.distinct,
      heldObjects: held.all,
      stalenessMs: this.#toldObjects === 0 ? null : this.#toldWaitMs / this.#toldObjects,
      durationMs: nowMs - this.#beganMs,
      series: [...this.#series],
    };
  }

  #point(requests: number): void {
    const share = (source: AnswerSource) =>
      (this.#answers[source] - this.#seriesFrom[source]) / this.#seriesEvery;
    this.#series.push({
      requests,
      localShare: share('local'),
      neighbourShare: share('neighbour'),
      originShare: share('origin'),
    });
    this.#seriesFrom = { ...this.#answers };
  }
}

function noMessages(): Record<MessageKind, number> {
  return Object.fromEntries(MESSAGE_KINDS.map((kind) => [kind, 0])) as Record<MessageKind, number>;
}

function noTraffic(): { -readonly [name in Exclude<keyof BetweenGroups, 'busiestLeader'>]: number } {
  return { hits: 0, messages: 0, messageBytes: 0, objectBytes: 0 };
}

/** All times of a run, 4 bytes each, so that the quantiles are exact. */
class Samples {
  #values = new Float32Array(1024);
  #count = 0;
  #sum = 0;

  add(value: number): void {
    if (this.#count === this.#values.length) {
      const wider = new Float32Array(2 * this.#values.length);
      wider.set(this.#values);
      this.#values = wider;
    }
    this.#values[this.#count++] = value;
    this.#sum += value;
  }

  summary(): { readonly mean: number; readonly p50: number; readonly p99: number } {
    if (this.#count === 0) return { mean: 0, p50: 0, p99: 0 };
    const sorted = this.#values.subarray(0, this.#count).slice().sort();
    const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!;
    return { mean: this.#sum / this.#count, p50: at(0.5), p99: at(0.99) };
  }
}
