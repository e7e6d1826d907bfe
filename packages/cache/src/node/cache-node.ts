/**
 * A running cache node as programs see it, and the options for starting one. start-node.ts creates
 * it.
 */

import type { MakeObjectFinder } from '../peers/groups/object-finder.ts';
import type { PurgeReach } from '../peers/purges/purge-exchange.ts';
import type { AbortOptions } from '../store/abortable.ts';
import type { ResponseStore } from '../store/response-store.ts';
import type { MemberReport, NodeStatus } from './admin/status.ts';
import type { ListenAddress } from './config/listen-address.ts';
import type { NodeConfig } from './config/node-config.ts';
import type { ConsolePart } from './console/console-part.ts';
import type { Log } from './log/log.ts';
import type { Team } from './workers/team.ts';

/** The result of a purge for the fleet. */
export interface FleetPurge extends PurgeReach {
  /** Responses that were removed from this node. */
  readonly purged: number;
}

export interface CacheNode {
  /** The name in Via, Cache-Status and Proxy-Status, by which neighbours know the node. */
  readonly name: string;
  /** Addresses on which the node listens, with the actual ports. */
  readonly listen: readonly ListenAddress[];
  readonly adminListen: ListenAddress | null;
  /** The token that the node drew at its start; null if the operator set one. */
  readonly drawnToken: string | null;
  /** The folder for responses on disk, or null if there is none. */
  readonly folder: string | null;
  readonly store: ResponseStore;
  readonly log: Log;
  status(options?: AbortOptions): Promise<NodeStatus>;
  /** The metrics in the text format of Prometheus. */
  metrics(options?: AbortOptions): Promise<string>;
  /** The report of this process alone. */
  report(): MemberReport;
  /**
   * Removes the stored responses of a URL; returns how many. A removal that has begun is not
   * stopped by the signal.
   */
  purge(url: string, options?: AbortOptions): Promise<number>;
  /**
   * Like `purge`, for this node and its neighbours. It waits up to 10 s for their confirmations;
   * neighbours that have not confirmed are told again until they do.
   */
  purgeFleet(url: string, options?: AbortOptions): Promise<FleetPurge>;
  /** The part of this process in the console of a node with workers. */
  readonly consolePart: ConsolePart;
  /** Removes a key of this process, like `purge`. */
  removeKey(key: string, options?: AbortOptions): Promise<number>;
  /**
   * Applies the new configuration as far as possible. Returns the settings that need a restart, by
   * their names in the file.
   */
  reload(config: NodeConfig): string[];
  /** Opens the access log again. */
  reopenLogs(): void;
  /** Finishes running requests, up to the deadline (that of the configuration, unless given). */
  close(deadlineMs?: number): Promise<void>;
}

/** Addresses to listen on, in place of the configuration's values. */
export type ListenPlaces = Pick<NodeConfig, 'listen' | 'adminListen' | 'listenDefaulted'>;

/** `signal` ends the start; `close` ends a running node. */
export interface StartOptions extends AbortOptions {
  readonly team?: Team;
  /** Keys to remove before the first request. */
  readonly removeFirst?: readonly string[];
  /** Called when everything except the ports is ready; clients are served after it resolves. */
  readonly places?: () => Promise<ListenPlaces>;
  /** The folder with the built page of the console, or `assets:` (console/page-files.ts). */
  readonly consolePage?: string | null;
  /** Makes the directory of objects across groups, for `--group-find`. */
  readonly findObjects?: MakeObjectFinder | undefined;
  readonly log?: Log;
  readonly clock?: () => number;
}
