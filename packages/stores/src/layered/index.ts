/**
 * The entry point `@bloomery/stores/layered`: local changes over a base that is only read, with a
 * filter so that unchanged records cost one read.
 */

export type { Abortable, Base, Change, MergeIntoOptions } from './base.ts';
export { type HttpBaseOptions, httpBase } from './bases/http-base.ts';
export { type PostgresBaseOptions, type PostgresQueries, postgresBase } from './bases/postgres-base.ts';
export {
  type SqliteBaseOptions,
  type SqliteConnection,
  type SqliteConstructor,
  type SqliteQuery,
  sqliteBase,
} from './bases/sqlite-base.ts';
export type { MergePolicy } from './decisions/merge-policy.ts';
export { type MergeCosts, recommendedChanges } from './decisions/merge-threshold.ts';
export { LayerError, type LayerErrorCode } from './layer-error.ts';
export {
  type ChangeFilter,
  type LayerView,
  type LayerViewOptions,
  layerView,
  type RemoteChanges,
} from './layer-view.ts';
export { Layered, type LayerStats, layered, type MergeOptions, type MergeReport } from './layered.ts';
export type { LayeredOptions } from './layered-options.ts';
export type { TornEnd } from './log/segment-file.ts';
export { bytesValues, jsonValues, textValues, type Values } from './values.ts';
