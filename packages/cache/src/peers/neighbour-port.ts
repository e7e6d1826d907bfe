/**
 * The knowledge about neighbours that a fetch from them needs, as an interface: which of them to
 * ask for an object, in which order and for how long, which node owns a key, and where the results
 * are reported. The fetch itself (neighbour-source.ts) knows only HTTP. (The TCP port on which
 * neighbours connect is another thing: `node/fleet/peer-port.ts`.)
 *
 * There are two such interfaces. A fetch uses `NeighbourPort`, by cache key, which
 * keyed-neighbours.ts implements. Behind it is `NeighbourDirectory`, by the hash of the key:
 * peer-hub.ts in the process that has the summaries, `node/workers/fleet-channel.ts` in a worker.
 */

import type { RequestHead } from '../policy/message-head.ts';
import type { HashHalves } from './decisions/owner-question.ts';
import type { AskKind } from './objects/object-request.ts';
import type { SummaryVersion } from './objects/object-response.ts';

export interface Neighbour {
  /** The name that it gave itself, or null before the first contact. */
  readonly id: string | null;
  /** The URL of its peer port, without a path: `http://10.0.0.2:3129`. */
  readonly address: string;
  /** The id of the secret that signs questions to it; null takes the first one. */
  readonly keyId: number | null;
}

/** The hash of a key under one secret of the fleet. */
export interface KeyedHash extends HashHalves {
  readonly keyId: number;
}

/** One question of a plan. */
export interface PlannedQuestion {
  readonly neighbour: Neighbour;
  readonly headDeadlineMs: number;
  /** The time after which the next question of the plan begins as well, or null if it waits. */
  readonly hedgeAfterMs: number | null;
}

export interface NeighbourPlan {
  readonly asks: readonly PlannedQuestion[];
  /** Addresses of all neighbours whose summary says "maybe", including those that are not asked. */
  readonly candidates?: readonly string[];
  /** The step after all questions. The origin follows the owner in any case. */
  readonly afterwards: 'owner' | 'origin';
  /**
   * The owners of the key in another group of nodes, in their order. They take the place of the
   * step after all questions, unless the fetch may not leave its group.
   */
  readonly beyond?: readonly PlannedQuestion[];
  /**
   * The node that a finder named (groups/object-finder.ts). It is asked for a stored response
   * before the owners, unless the fetch may not leave its group.
   */
  readonly holder?: PlannedQuestion;
  /** The reason why neighbours are asked or not, in words for the access log. */
  readonly why?: string;
}

/** The owner's answer: fetch from the origin, or ask this neighbour, which is receiving it. */
export type OwnerAnswer = 'fetch' | Neighbour;

export interface NeighbourPort {
  /**
   * The plan for a miss. A request whose target must not leave this node (a secret in the query)
   * has an empty plan that goes to the origin. `again`: the plan is for the rest of a body, so the
   * miss was counted before.
   */
  plan(request: RequestHead, again?: boolean): NeighbourPlan | Promise<NeighbourPlan>;
  /**
   * Asks the owner of the key. `lost` is the id of a node that stopped sending the object to this
   * node before its end, or null. Null if the owner does not answer in time. It never rejects.
   */
  askOwner(key: string, lost: string | null): Promise<OwnerAnswer | null>;
  /** The neighbour with this id, or null if there is none, if it is down, or if it is this node. */
  find(node: string): Neighbour | null;
  report(report: NeighbourReport): void;
}

/**
 * The answer of an owner. The owner knows that this node asked, even if its answer came too late.
 */
export interface OwnerWord {
  /** The id of the node that was asked. */
  readonly owner: string;
  /** The secret of the hash by which it knows the key. */
  readonly keyId: number;
  readonly answer: OwnerAnswer | null;
}

/**
 * The reason why a node does not have an object for which it asked the owner. `unshareable`: no
 * node may get it from another one. `left`: the fetch failed, or its response was not stored.
 */
export type GiveUp = 'unshareable' | 'left';

/**
 * The same knowledge by the hash of a key, so that it can be kept in another process than the
 * fetch. `hashes` are those of one key, under each secret that the node knows.
 */
export interface NeighbourDirectory {
  plan(hashes: readonly KeyedHash[], again?: boolean): NeighbourPlan | Promise<NeighbourPlan>;
  /** Asks the owner of the key. Null if the directory does not answer. It never rejects. */
  askOwner(hashes: readonly KeyedHash[], lost: string | null): Promise<OwnerWord | null>;
  /** Tells an owner that this node has the whole object. */
  done(owner: string, hash: HashHalves): void;
  /** Tells an owner that this node does not have the object, and is not receiving it any more. */
  gaveUp(owner: string, hash: HashHalves, why: GiveUp): void;
  find(node: string): Neighbour | null;
  report(report: NeighbourReport): void;
}

/** The outcome of a question, known when its head comes: the object or a refusal. */
export type QuestionEnd = 'hit' | 'waits' | 'refused' | 'unusable' | 'late' | 'failed' | 'cancelled';

/** The end of a body that a neighbour began to send. */
export type BodyEnd = 'whole' | 'stalled' | 'broken' | 'damaged' | 'cancelled';

export type NeighbourReport =
  /** The next question of a plan begins while the one before it still runs. */
  | { readonly kind: 'hedged'; readonly neighbour: Neighbour }
  /** A question was put. Exactly one `answered` follows. */
  | { readonly kind: 'asked'; readonly neighbour: Neighbour; readonly ask: AskKind }
  /**
   * `waits`: the neighbour waits for the origin, and this node for the neighbour. When that is
   * over, a second pair of `asked` and `answered` follows. `unusable`: an object that this request
   * cannot use (another variant, another version). `late`: no head within the deadline. `failed`:
   * no connection, or bytes that are not an answer of our protocol. `cancelled`: this node no
   * longer needed the answer.
   */
  | {
      readonly kind: 'answered';
      readonly neighbour: Neighbour;
      readonly ask: AskKind;
      readonly end: QuestionEnd;
      readonly ms: number;
      readonly summary: SummaryVersion | null;
      /** The secret that signed the question, which is that of `summary`. */
      readonly keyId: number;
      /** Whether the object came from the neighbour's store although its summary said "no". */
      readonly isFalseMiss: boolean;
    }
  /** After the end of a body: it was not the one that its digest names. */
  | { readonly kind: 'forged'; readonly neighbour: Neighbour }
  /** After a `hit`: how the body ended. */
  | {
      readonly kind: 'body';
      readonly neighbour: Neighbour;
      readonly ask: AskKind;
      readonly end: BodyEnd;
      readonly bytes: number;
    };
