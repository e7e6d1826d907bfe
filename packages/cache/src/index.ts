/**
 * The HTTP cache: a node to start, its configuration, and the parts that a node is built from, for
 * callers that build their own.
 *
 * The settings are exported separately (`SETTINGS`), because the command builds its options from
 * them.
 */

export type { NodeStatus } from './node/admin/status.ts';
export { ConfigError } from './node/config/config-sources.ts';
export { formatListen, type ListenAddress } from './node/config/listen-address.ts';
export {
  type ConfigSources,
  defaultDiskFolder,
  loadConfig,
  type NodeConfig,
  printConfig,
} from './node/config/node-config.ts';
export { COMMAND_FLAGS, environmentName, SETTINGS, type Setting } from './node/config/settings.ts';
export { Log, type LogLevel, type LogOptions } from './node/log/log.ts';
export { type RunOptions, runCache } from './node/run-cache.ts';
export { type CacheNode, type FleetPurge, type StartOptions, startNode } from './node/start-node.ts';
export type { MakeObjectFinder, ObjectFinder } from './peers/groups/object-finder.ts';
export type {
  CooperationReport,
  OwnSummaryReport,
  PeerReport,
  SquidsReport,
} from './peers/peer-report.ts';
export type { WarmStatus } from './peers/warming/warm-up.ts';
export type { FieldList, StoredResponse } from './policy/stored-response.ts';
export { createProxy } from './proxy/cache-proxy.ts';
export type { AnswerOutcome, AnswerRecord, ProxyObserver } from './proxy/proxy-observer.ts';
export type { ProxyOptions, Upstream } from './proxy/proxy-options.ts';
export { AddressGuard, type AddressGuardOptions } from './safety/address-guard.ts';
export { ClientGuard, type ClientGuardOptions } from './safety/client-guard.ts';
export { checkLimits, DEFAULT_LIMITS, LIMITS, type Limits } from './safety/limits.ts';
export type { AbortOptions } from './store/abortable.ts';
export { DiskStore, type DiskStoreOptions } from './store/disk/disk-store.ts';
export { MemoryStore, type MemoryStoreOptions } from './store/memory/memory-store.ts';
export {
  BodyError,
  type BodyReader,
  type BodyWishes,
  type BodyWriter,
  type LowerStore,
  type ResponseStore,
  type StoreStatistics,
} from './store/response-store.ts';
export { type Backing, Spool, type SpoolRules } from './store/spool.ts';
export { Admission, type AdmissionOptions } from './store/tiered/admission.ts';
export { TieredStore, type TieredStoreOptions } from './store/tiered/tiered-store.ts';

import type { AnswerOutcome } from './proxy/proxy-observer.ts';

/** @deprecated Use `AnswerOutcome`, the same type under a more specific name. */
export type Outcome = AnswerOutcome;
