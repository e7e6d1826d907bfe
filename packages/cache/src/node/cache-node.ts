/** A running cache node as programs see it, and the options it is started with. start-node.ts makes one. */

import type { ResponseStore } from '../store/response-store.ts';
import type { MemberReport, NodeStatus } from './admin/status.ts';
import type { ListenAddress } from './config/listen-address.ts';
import type { NodeConfig } from './config/node-config.ts';
import type { Log } from './log/log.ts';
import type { Team } from './workers/team.ts';

export interface CacheNode {
  /** Where it listens, with the ports that it got. */
  readonly listen: readonly ListenAddress[];
  readonly adminListen: ListenAddress | null;
  /** Where responses are kept on disk; null: nowhere. */
  readonly folder: string | null;
  readonly store: ResponseStore;
  readonly log: Log;
  status(): Promise<NodeStatus>;
  /** In the text format of Prometheus. */
  metrics(): Promise<string>;
  /** What this process alone has to report. */
  report(): MemberReport;
  /** Forgets what is stored for a URL; gives how many responses. */
  purge(url: string): Promise<number>;
  /** Forgets a key of this process. */
  removeKey(key: string): Promise<number>;
  /** Takes the new configuration as far as that is possible; gives the settings that need a restart, by their names in a file. */
  reload(config: NodeConfig): string[];
  /** Opens the access log again. */
  reopenLogs(): void;
  /** Finishes what runs, up to the deadline (of the configuration, unless given). */
  close(deadlineMs?: number): Promise<void>;
}

/** Where to listen, instead of what the configuration says. */
export type ListenPlaces = Pick<NodeConfig, 'listen' | 'adminListen' | 'listenDefaulted'>;

export interface StartOptions {
  readonly team?: Team;
  /** Keys to forget before the first request. */
  readonly removeFirst?: readonly string[];
  /** Asked when all is ready but the ports; clients are served after its answer. */
  readonly places?: () => Promise<ListenPlaces>;
  readonly log?: Log;
  readonly clock?: () => number;
}
