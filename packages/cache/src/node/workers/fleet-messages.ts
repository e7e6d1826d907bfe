/**
 * The messages about neighbours between the primary, which knows them, and its workers, which store
 * and fetch objects. They are plain data that survives JSON. No message contains a URL: keys travel
 * as the halves of their hash.
 */

import type { CertificatePem } from '@bloomery/transport/http';
import type { HashHalves } from '../../peers/decisions/owner-question.ts';
import type { FleetPicture } from '../../peers/looking/fleet-view.ts';
import type { KeyLook } from '../../peers/looking/key-look.ts';
import type {
  GiveUp,
  KeyedHash,
  Neighbour,
  NeighbourPlan,
  NeighbourReport,
  OwnerWord,
} from '../../peers/neighbour-port.ts';
import type { KeyedVersion } from '../../peers/own-summaries.ts';
import type { PurgeReach } from '../../peers/purges/purge-exchange.ts';
import type { ListenAddress } from '../config/listen-address.ts';

/** Numbers of one change in the message `summary`. */
export const NUMBERS_PER_CHANGE = 4;

/** The facts that a worker needs from its start on. */
export interface FleetStart {
  /** The name under which neighbours know the node. */
  readonly name: string;
  /**
   * The secrets in base64. The primary sends them, and the worker does not read the file: a worker
   * that is restarted after the file was changed must have the secrets of the others.
   */
  readonly secrets: readonly string[];
  /** The contents of the files for mutual TLS, for the same reason; null if there are none. */
  readonly certificates: CertificatePem | null;
  readonly listen: ListenAddress | null;
  readonly news: FleetNews;
}

/** The part of the primary's knowledge that workers have a copy of. */
export interface FleetNews {
  /** The versions of the node's summaries, the one under the preferred secret first. */
  readonly summaries: readonly KeyedVersion[];
  /** The neighbours that are up. */
  readonly live: readonly Neighbour[];
  /** Responses that were stored before this time must be validated. */
  readonly validAfter: number;
}

export type FleetToPrimary =
  /** Changes in their order: key id, low half, high half, end of freshness or 0 if dropped. */
  | { readonly kind: 'summary'; readonly changes: readonly number[] }
  /** `again`: for the rest of a body, of which the miss was counted before. */
  | {
      readonly kind: 'plan';
      readonly id: number;
      readonly hashes: readonly KeyedHash[];
      readonly again?: true;
    }
  | {
      readonly kind: 'ask-owner';
      readonly id: number;
      readonly hashes: readonly KeyedHash[];
      readonly lost: string | null;
    }
  | { readonly kind: 'purge'; readonly id: number; readonly key: string; readonly waitMs: number }
  /** Questions of the console. */
  | { readonly kind: 'look'; readonly id: number; readonly hashes: readonly KeyedHash[] }
  | { readonly kind: 'picture'; readonly id: number }
  | { readonly kind: 'done'; readonly owner: string; readonly hash: HashHalves }
  | { readonly kind: 'gave-up'; readonly owner: string; readonly hash: HashHalves; readonly why: GiveUp }
  | { readonly kind: 'neighbour-report'; readonly report: NeighbourReport };

export type FleetToWorker =
  | { readonly kind: 'planned'; readonly id: number; readonly plan: NeighbourPlan }
  | { readonly kind: 'owner-said'; readonly id: number; readonly word: OwnerWord }
  | { readonly kind: 'purge-reach'; readonly id: number; readonly reach: PurgeReach }
  | { readonly kind: 'looked'; readonly id: number; readonly look: KeyLook }
  | { readonly kind: 'pictured'; readonly id: number; readonly picture: FleetPicture }
  | { readonly kind: 'fleet-news'; readonly news: FleetNews }
  /** The operator has changed the secrets, here in base64. */
  | { readonly kind: 'fleet-secrets'; readonly secrets: readonly string[] }
  | { readonly kind: 'fleet-certificates'; readonly certificates: CertificatePem };
