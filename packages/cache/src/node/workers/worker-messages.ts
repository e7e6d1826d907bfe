/**
 * The messages between the primary and its workers over Node's channel. `id` connects a question
 * and its answer; each side counts its own.
 */

import type { MemberReport, TeamReport } from '../admin/status.ts';
import type { ListenAddress } from '../config/listen-address.ts';
import type { NodeConfig } from '../config/node-config.ts';
import type { ConsoleQuestion, PartQuestion } from '../console/console-part.ts';
import type { HistoryRow } from '../console/history-ring.ts';
import type { FleetStart, FleetToPrimary, FleetToWorker } from './fleet-messages.ts';

export type ToWorker =
  | FleetToWorker
  /** The first message. `removeFirst`: keys that were invalidated while this worker was down. */
  | {
      readonly kind: 'start';
      readonly config: NodeConfig;
      readonly index: number;
      readonly size: number;
      readonly folder: string;
      readonly removeFirst: readonly string[];
      /** The token for changes that the primary drew. */
      readonly token: string;
      /** The folder of the console's page; see `StartOptions`. */
      readonly consolePage: string | null;
      /** The secret for the names of objects in the console, in base64. */
      readonly objectKey: string;
      readonly fleet: FleetStart | null;
    }
  /** Accept requests of clients on these addresses. */
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
  /** Questions about the console, and their answers. */
  | { readonly kind: 'console-part'; readonly id: number; readonly question: PartQuestion }
  | { readonly kind: 'console-said'; readonly id: number; readonly answer: unknown }
  /** A row of the history is complete; another worker was given a wrong token. */
  | { readonly kind: 'history-row'; readonly row: HistoryRow }
  | { readonly kind: 'wrong-token' }
  | { readonly kind: 'reload'; readonly config: NodeConfig }
  | { readonly kind: 'reopen-logs' }
  | { readonly kind: 'stop'; readonly deadlineMs: number }
  /** All workers have finished their clients' requests: nothing will be relayed any more. */
  | { readonly kind: 'all-drained' };

export type ToPrimary =
  | FleetToPrimary
  /** The worker listens to messages; earlier ones would be lost. */
  | { readonly kind: 'hello' }
  /** The worker has opened its store, and takes requests of other workers. */
  | { readonly kind: 'prepared' }
  | {
      readonly kind: 'ready';
      readonly listen: readonly ListenAddress[];
      readonly adminListen: ListenAddress | null;
    }
  | { readonly kind: 'failed'; readonly message: string }
  /** `id` is null for an unrequested report, which the primary keeps in case this process dies. */
  | { readonly kind: 'report'; readonly id: number | null; readonly report: MemberReport }
  /**
   * Carries the worker's own report, because the primary must know the numbers before they are
   * shown.
   */
  | { readonly kind: 'collect'; readonly id: number; readonly report: MemberReport }
  /** Make the owner remove a key. */
  | { readonly kind: 'remove'; readonly id: number; readonly owner: number; readonly key: string }
  | { readonly kind: 'removed'; readonly id: number; readonly count: number; readonly problem: string | null }
  | { readonly kind: 'console'; readonly id: number; readonly question: ConsoleQuestion }
  | { readonly kind: 'console-part'; readonly id: number; readonly part: unknown }
  | { readonly kind: 'wrong-token' }
  | { readonly kind: 'drained' };
