/**
 * The entry point `@bloomery/stores/join`: joins of tables that lie in different places, with a
 * filter in between.
 */

export { type FdwCondition, fdwCondition } from './fdw-condition.ts';
export { type CsvOptions, csv, type FileSource, jsonl } from './file-sides.ts';
export { JoinError, type JoinErrorCode } from './join-error.ts';
export { KEY_TYPES, type KeyType } from './join-key.ts';
export type { JoinFacts, JoinPlan, JoinWay } from './join-plan.ts';
export type {
  Fields,
  FilteringServer,
  JoinSide,
  ReadOptions,
  Row,
  RowCost,
  SliceCount,
  SliceSample,
} from './join-side.ts';
export { type JoinSize, type JoinSizeOptions, joinSizeEstimate } from './join-size.ts';
export type { OnRows } from './near-keys.ts';
export type { CopyTo, PostgresClient } from './postgres-session.ts';
export { type PostgresOptions, postgres } from './postgres-side.ts';
export { PushdownFilter, type PushdownOptions } from './pushdown-filter.ts';
export {
  type JoinReport,
  type OnColumn,
  type SemiJoin,
  type SemiJoinOptions,
  semiJoin,
} from './semi-join.ts';
export { type SqliteDatabase, type SqliteOptions, sqlite } from './sqlite-side.ts';
export {
  type Candidates,
  type CandidatesOptions,
  candidates,
  type NearFilter,
  type NearFilterOptions,
  nearFilter,
} from './stream-filter.ts';
