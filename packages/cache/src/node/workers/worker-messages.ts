/** What the primary and its workers say to each other over Node's channel. `id` joins a question and its answer; each side counts its own. */

import type { MemberReport, TeamReport } from '../admin/status.ts';
import type { ListenAddress } from '../config/listen-address.ts';
import type { NodeConfig } from '../config/node-config.ts';

export type ToWorker =
  /** The first one. `removeFirst`: keys that were invalidated while this worker was down. */
  | {
      readonly kind: 'start';
      readonly config: NodeConfig;
      readonly index: number;
      readonly size: number;
      readonly folder: string;
      readonly removeFirst: readonly string[];
    }
  /** Take requests of clients, here. */
  | {
      readonly kind: 'listen';
      readonly listen: readonly ListenAddress[];
      readonly adminListen: ListenAddress | null;
      readonly listenDefaulted: boolean;
    }
  | { readonly kind: 'report'; readonly id: number }
  | { readonly kind: 'remove'; readonly id: number; readonly key: string }
  | { readonly kind: 'collected'; readonly id: number; readonly report: TeamReport }
  | { readonly kind: 'removed'; readonly id: number; readonly count: number; readonly problem: string | null }
  | { readonly kind: 'reload'; readonly config: NodeConfig }
  | { readonly kind: 'reopen-logs' }
  | { readonly kind: 'stop'; readonly deadlineMs: number }
  /** All have finished their clients' requests: nothing will be relayed any more. */
  | { readonly kind: 'all-drained' };

export type ToPrimary =
  /** It listens: what is said before is lost. */
  | { readonly kind: 'hello' }
  /** It has its store, and takes requests of other workers. */
  | { readonly kind: 'prepared' }
  | {
      readonly kind: 'ready';
      readonly listen: readonly ListenAddress[];
      readonly adminListen: ListenAddress | null;
    }
  | { readonly kind: 'failed'; readonly message: string }
  /** `id` null: nobody asked; the primary wants to know it should this process die. */
  | { readonly kind: 'report'; readonly id: number | null; readonly report: MemberReport }
  /** With its own report: what it is going to show must be known to the primary before. */
  | { readonly kind: 'collect'; readonly id: number; readonly report: MemberReport }
  /** Have the owner forget a key. */
  | { readonly kind: 'remove'; readonly id: number; readonly owner: number; readonly key: string }
  | { readonly kind: 'removed'; readonly id: number; readonly count: number; readonly problem: string | null }
  | { readonly kind: 'drained' };
