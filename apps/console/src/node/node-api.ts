/** The messages of a node, version 1 (docs/spec/console.md). */

export type Outcome =
  | 'hit'
  | 'stale'
  | 'validated'
  | 'miss'
  | 'neighbour'
  | 'collapsed'
  | 'bypass'
  | 'tunnel'
  | 'error'
  | 'refused';

export interface Hello {
  readonly name: string;
  readonly version: string;
  readonly startedAt: number;
  readonly at: number;
  readonly state: 'running' | 'stopping';
  readonly urls: 'shown' | 'hidden';
  readonly historyKept: 'disk' | 'memory';
  readonly features: readonly string[];
  readonly hasFleet: boolean;
}

interface StoredCount {
  readonly objects: number;
  readonly bytes: number;
}

export interface Counts {
  readonly at: number;
  readonly startedAt: number;
  readonly requests: Readonly<Record<Outcome, number>>;
  readonly bytesSent: number;
  readonly bytesFromOrigins: number;
  readonly bytesFromNeighbours: number;
  readonly latency: {
    readonly boundsMs: readonly number[];
    readonly cache: readonly number[];
    readonly other: readonly number[];
  };
  readonly summaryBytesIn: number;
  readonly summaryBytesOut: number;
  readonly trueHits: number;
  readonly falseHits: number;
  readonly inMemory: StoredCount;
  readonly onDisk: StoredCount | null;
  readonly originFailures: number;
  readonly connections: number;
}

export interface Peer {
  readonly address: string;
  readonly id: string | null;
  readonly kind: 'bloomery' | 'squid';
  readonly group: string | null;
  readonly isLeader: boolean;
  readonly state: string;
  readonly masked: string | null;
  readonly maskedUntil: number | null;
  readonly objects: number;
  readonly generation: string | null;
  readonly falsePositiveRate: number;
  readonly silentMs: number | null;
  readonly summaryAt: number | null;
  readonly summaryBytes: number;
  readonly memoryBytes: number;
  readonly fullBytes: number | null;
  readonly deltaBytes: number | null;
  readonly universe: number | null;
  readonly trueHits: number;
  readonly falseHits: number;
  readonly failures: number;
  readonly latencyMs: { readonly median: number; readonly p95: number } | null;
  readonly objectBytes: number;
}

export interface OwnSummary {
  readonly id: string;
  readonly objects: number;
  readonly generation: string;
  readonly falsePositiveRate: number;
  readonly updates: number;
  readonly bytesPublished: number;
  readonly objectsServed: number;
  readonly bytesServed: number;
  readonly memoryBytes: number;
  readonly memoryLimitBytes: number;
  readonly fullBytes: number | null;
  readonly deltaBytes: number | null;
  readonly universe: number | null;
}

export interface Groups {
  readonly group: string;
  readonly leader: string | null;
  readonly members: number;
  readonly isLeader: boolean;
  readonly others: readonly {
    readonly group: string;
    readonly leader: string | null;
    readonly members: number;
    readonly up: number;
  }[];
}

export interface Peers {
  readonly isFull: boolean;
  readonly own: OwnSummary | null;
  readonly groups: Groups | null;
  readonly peers: readonly Peer[];
  readonly gone: readonly string[];
}

export interface Answer {
  readonly id: number;
  readonly at: number;
  readonly method: string;
  readonly url: string | null;
  readonly object: string | null;
  readonly status: number;
  readonly outcome: Outcome;
  readonly reason: string;
  readonly cacheStatus: string | null;
  readonly neighbour: string | null;
  readonly neighbours: string | null;
  readonly notStored: string | null;
  readonly bytesSent: number;
  readonly bytesFromOrigin: number;
  readonly bytesFromNeighbours: number;
  readonly durationMs: number;
  readonly isAborted: boolean;
}

export interface Answers {
  readonly answers: readonly Answer[];
  readonly skipped: number;
}

export interface Busiest {
  readonly since: number;
  readonly total: number;
  readonly threshold: number;
  readonly epsilon: number;
  readonly delta: number;
  readonly objects: readonly {
    readonly url: string | null;
    readonly object: string;
    readonly count: number;
    readonly atLeast: number;
  }[];
  /** Objects with that share that are left out of the list. */
  readonly more: number;
}

export type Span = 'hour' | 'day' | 'week';

export interface History {
  readonly span: Span;
  readonly stepMs: number;
  readonly at: number;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (number | null)[])[];
}

export interface Who {
  readonly url: string | null;
  readonly object: string;
  readonly isPrivate: boolean;
  readonly local: { readonly isStored: boolean; readonly isFresh: boolean | null };
  readonly owner: string | null;
  readonly isOwner: boolean;
  readonly peers: readonly WhoPeer[];
  readonly order: readonly string[];
}

export interface WhoPeer {
  readonly address: string;
  readonly id: string | null;
  readonly answer: 'maybe' | 'no' | 'unknown';
  readonly why: string | null;
  readonly universe: number | null;
  readonly positions: readonly {
    readonly position: number;
    readonly isSet: boolean;
    readonly window: { readonly from: number; readonly bits: string };
  }[];
  readonly falsePositiveRate: number | null;
  readonly truth: 'has' | 'has-not' | 'failed' | null;
}

export interface Fleet {
  readonly at: number;
  readonly nodes: readonly {
    readonly id: string | null;
    readonly address: string;
    readonly group: string | null;
    readonly isLeader: boolean;
    readonly isSelf: boolean;
    readonly state: 'up' | 'down' | 'silent';
    readonly objects: number | null;
  }[];
  readonly links: readonly (readonly [number, number, number, number, number, number])[];
}
