/**
 * Data of a node that does not exist, for tests of drawing and for pictures. It has the shapes of
 * docs/spec/console.md; whether a real node keeps to them is tested with a real fleet.
 */

import { Random } from '@bloomery/testkit/statistics';
import type {
  Answer,
  Busiest,
  Counts,
  Fleet,
  Hello,
  History,
  Outcome,
  Peer,
  Peers,
  Span,
  Who,
} from '../../src/node/node-api.ts';

/** The moment of the sample: 2026-01-15 12:00 UTC. */
const SAMPLE_NOW = 1_768_478_400_000;
const STARTED = SAMPLE_NOW - 5 * 3_600_000;
const BOUNDS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000];

export interface SampleOptions {
  readonly peers: number;
  readonly urls?: 'shown' | 'hidden';
  /** Whether the node has had no request yet. */
  readonly isEmpty?: boolean;
}

export function sampleHello({ peers, urls = 'shown' }: SampleOptions): Hello {
  return {
    name: 'cache-1',
    version: '0.1.0',
    startedAt: STARTED,
    at: SAMPLE_NOW,
    state: 'running',
    urls,
    historyKept: 'disk',
    features: ['events', 'history', 'answers', 'busiest', 'who', 'fleet', 'token'],
    hasFleet: peers > 0,
  };
}

export function sampleCounts({ isEmpty = false }: SampleOptions, second = 0): Counts {
  const n = isEmpty ? 0 : 1;
  const requests: Record<Outcome, number> = {
    hit: 48_211 * n + 30 * second,
    stale: 12 * n,
    validated: 310 * n,
    miss: 9127 * n + 4 * second,
    neighbour: 11_402 * n + 9 * second,
    collapsed: 803 * n,
    bypass: 95 * n,
    tunnel: 12 * n,
    error: 3 * n,
    refused: 7 * n,
  };
  return {
    at: SAMPLE_NOW + 1000 * second,
    startedAt: STARTED,
    requests,
    bytesSent: 1_934_221_004 * n + 90_000 * second,
    bytesFromOrigins: 281_430_998 * n + 9000 * second,
    bytesFromNeighbours: 322_004_117 * n + 15_000 * second,
    latency: {
      boundsMs: BOUNDS,
      cache: BOUNDS.map((_, i) => (i === 0 ? 47_000 * n : i === 1 ? 1200 * n : 23 * n)).concat(0),
      other: BOUNDS.map((_, i) => (i > 2 && i < 9 ? 3500 * n : 11 * n)).concat(0),
    },
    summaryBytesIn: 812_554 * n + 120 * second,
    summaryBytesOut: 402_117 * n + 60 * second,
    trueHits: 11_402 * n + 9 * second,
    falseHits: 61 * n,
    inMemory: { objects: 4107 * n, bytes: 61_204_551 * n },
    onDisk: { objects: 18_233 * n, bytes: 611_204_551 * n },
    originFailures: 3 * n,
    connections: 17,
  };
}

export function samplePeers({ peers: count }: SampleOptions): Peers {
  const random = new Random(7);
  const isGrouped = count > 32;
  const peers = Array.from({ length: count }, (_, i): Peer => {
    const isDown = i % 29 === 2;
    const isAvoided = !isDown && i % 17 === 1;
    const objects = 9000 + random.below(20_000);
    return {
      address: `http://10.0.${Math.floor(i / 200)}.${(i % 200) + 2}:3129`,
      id: isDown && i > 60 ? null : `cache-${i + 2}`,
      kind: 'bloomery',
      group: isGrouped ? `rack-${Math.floor((i * 8) / count) + 1}` : null,
      isLeader: isGrouped && i % Math.ceil(count / 8) === 0,
      state: isDown ? 'down' : 'up',
      masked: isAvoided ? 'too many of its answers are late' : null,
      maskedUntil: isAvoided ? SAMPLE_NOW + 21_000 : null,
      objects,
      generation: `1768460000.${random.below(900)}`,
      falsePositiveRate: 0.0001,
      silentMs: isDown ? 95_000 : random.below(1000),
      summaryAt: SAMPLE_NOW - (isDown ? 95_000 : random.below(9000)),
      summaryBytes: 90_000 + random.below(50_000),
      memoryBytes: Math.round(6.1 * objects),
      fullBytes: Math.round(2.1 * objects),
      deltaBytes: 40 + random.below(900),
      universe: 2 ** 28,
      trueHits: random.below(1200),
      falseHits: random.below(9),
      failures: isDown ? 4 : 0,
      // As a node tells them, from a clock of fractions.
      latencyMs: { median: 1.7149299999982 + random.below(4), p95: 6.6586129999996 + random.below(9) },
      objectBytes: random.below(50_000_000),
    };
  });
  return {
    isFull: true,
    own: {
      id: 'cache-1',
      objects: 18_233,
      generation: '1768460000.412',
      falsePositiveRate: 0.0001,
      updates: 412,
      bytesPublished: 402_117,
      objectsServed: 9044,
      bytesServed: 288_113_007,
      memoryBytes: 160_000 * count,
      memoryLimitBytes: 134_217_728,
      fullBytes: 38_000,
      deltaBytes: 311,
      universe: 2 ** 28,
    },
    groups: isGrouped
      ? {
          group: 'rack-0',
          leader: 'cache-1',
          members: 12,
          isLeader: true,
          others: Array.from({ length: 8 }, (_, i) => ({
            group: `rack-${i + 1}`,
            leader: `cache-${Math.ceil((i * count) / 8) + 2}`,
            members: Math.round(count / 8),
            up: Math.round(count / 8) - 1,
          })),
        }
      : null,
    peers,
    gone: [],
  };
}

const OUTCOMES: readonly Outcome[] = [
  'hit',
  'hit',
  'neighbour',
  'hit',
  'miss',
  'hit',
  'collapsed',
  'validated',
  'error',
];

export function sampleAnswers({ urls = 'shown', isEmpty = false }: SampleOptions, count = 24): Answer[] {
  const random = new Random(9);
  return Array.from({ length: isEmpty ? 0 : count }, (_, i): Answer => {
    const outcome = OUTCOMES[i % OUTCOMES.length];
    const bytes = 300 + random.below(90_000);
    const isFetch = outcome === 'miss' || outcome === 'error';
    return {
      id: i + 1,
      at: SAMPLE_NOW - 1000 * (count - i),
      method: 'GET',
      url:
        urls === 'shown'
          ? `http://deb.example.org/pool/main/b/package-${random.below(400)}_1.${i}_amd64.deb?arch=…`
          : null,
      object: `3f9a2c${String(100_000 + i)}`,
      status: outcome === 'error' ? 502 : 200,
      outcome,
      reason: outcome === 'hit' ? '' : outcome === 'validated' ? 'stale' : 'uri-miss',
      cacheStatus: outcome === 'hit' ? 'cache-1; hit; ttl=3120' : 'cache-1; fwd=uri-miss; stored',
      neighbour: outcome === 'neighbour' ? 'cache-3' : null,
      neighbours: isFetch ? 'no neighbour may have it' : null,
      notStored: outcome === 'miss' && i % 2 === 0 ? 'no-store' : null,
      bytesSent: bytes,
      bytesFromOrigin: outcome === 'miss' ? bytes : 0,
      bytesFromNeighbours: outcome === 'neighbour' ? bytes : 0,
      durationMs: outcome === 'hit' ? 0.4 : 10 + random.below(90),
      isAborted: false,
    };
  });
}

export function sampleBusiest({ urls = 'shown', isEmpty = false }: SampleOptions): Busiest {
  return {
    since: SAMPLE_NOW - 5_400_000,
    total: isEmpty ? 0 : 41_220,
    threshold: 0.005,
    epsilon: 0.0005,
    delta: 0.001,
    objects: Array.from({ length: isEmpty ? 0 : 12 }, (_, i) => ({
      url: urls === 'shown' ? `http://deb.example.org/dists/stable/part-${i}/Packages.gz` : null,
      object: `aa${i}bb0011cc`,
      count: 4200 - 310 * i,
      atLeast: 4200 - 310 * i - (i > 3 ? 12 : 0),
    })),
    more: 0,
  };
}

const STEPS: Record<Span, readonly [stepMs: number, rows: number]> = {
  hour: [10_000, 360],
  day: [300_000, 288],
  week: [1_800_000, 336],
};

export function sampleHistory({ isEmpty = false }: SampleOptions, span: Span): History {
  const random = new Random(11);
  const [stepMs, count] = STEPS[span];
  const columns =
    'start local peer origin other failed bytesSent bytesFromOrigins bytesFromNeighbours summaryBytesIn summaryBytesOut trueHits falseHits p50Ms p99Ms peersUp';
  const rows = Array.from({ length: count }, (_, i) => {
    const wave = 1 + 0.5 * Math.sin((i * 2 * Math.PI) / 120);
    const part = (amount: number) => Math.round(amount * wave * (0.8 + random.below(400) / 1000));
    const scale = stepMs / 10_000;
    return [
      SAMPLE_NOW - (count - i) * stepMs,
      ...[part(300 * scale), part(80 * scale), part(50 * scale), part(2), part(1)],
      ...[part(900_000 * scale), part(90_000 * scale), part(150_000 * scale)],
      ...[part(1200 * scale), part(600 * scale), part(90 * scale), part(0.5 * scale)],
      ...[1, [25, 50, 50, 100][random.below(4)], 2],
    ];
  });
  // The node did not run for a while.
  return {
    span,
    stepMs,
    at: SAMPLE_NOW,
    columns: columns.split(' '),
    rows: isEmpty ? [] : rows.filter((_, i) => i < count * 0.3 || i > count * 0.38),
  };
}

export function sampleWho(options: SampleOptions, url: string, hasAsked: boolean): Who {
  const { peers } = samplePeers(options);
  const isKnown = url.includes('present');
  return {
    url,
    object: '0123456789ab',
    isPrivate: false,
    local: { isStored: isKnown, isFresh: isKnown ? true : null },
    owner: peers[0]?.address ?? null,
    isOwner: false,
    order: isKnown || peers.length === 0 ? [] : [peers[0].address],
    peers: peers.map((peer, i) => {
      const isMaybe = peer.state === 'up' && i % 37 === 0;
      const isKnownHere = peer.state === 'up';
      const position = (123_456_789 + 1_000_003 * i) % 2 ** 28;
      const from = position - (position % 64);
      const bits = Array.from({ length: 64 }, (_, j) =>
        from + j === position ? (isMaybe ? '1' : '0') : (j * 7 + i) % 13 === 0 ? '1' : '0',
      );
      return {
        address: peer.address,
        id: peer.id,
        answer: isKnownHere ? (isMaybe ? 'maybe' : 'no') : 'unknown',
        why: isKnownHere ? null : 'it is down',
        universe: isKnownHere ? 2 ** 28 : null,
        positions: isKnownHere ? [{ position, isSet: isMaybe, window: { from, bits: bits.join('') } }] : [],
        falsePositiveRate: isKnownHere ? 0.0001 : null,
        truth: hasAsked && isMaybe ? (i === 0 ? 'has' : 'has-not') : null,
      } as const;
    }),
  };
}

export function sampleFleet(options: SampleOptions): Fleet {
  const { peers } = samplePeers(options);
  const nodes: Fleet['nodes'] = [
    {
      id: 'cache-1',
      address: 'http://10.0.0.1:3129',
      group: null,
      isLeader: false,
      isSelf: true,
      state: 'up',
      objects: 18_233,
    },
    ...peers.map(({ id, address, group, isLeader, state, objects }) => ({
      ...{ id, address, group, isLeader, isSelf: false, objects },
      state: state === 'up' ? ('up' as const) : ('down' as const),
    })),
  ];
  const links: Fleet['links'] = nodes.flatMap((holder, i) =>
    holder.state === 'up'
      ? nodes.flatMap((node, j) =>
          i === j ? [] : [[i, j, node.state === 'up' ? 0 : 2, node.objects ?? 0, 5, 0] as const],
        )
      : [],
  );
  return { at: SAMPLE_NOW, nodes, links };
}
