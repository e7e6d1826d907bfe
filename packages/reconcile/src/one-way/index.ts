/**
 * The entry point `@bloomery/reconcile/one-way`: the methods of survey 5.2. One message from B to
 * A, after which A knows most of its keys that B lacks. For exact answers, and for both directions,
 * use `@bloomery/reconcile`.
 *
 * @example
 * ```ts
 * import { BloomFilter } from 'bloomery';
 * import { bloomSummary, surelyMissing } from '@bloomery/reconcile/one-way';
 *
 * send(bloomSummary(keysOfB).encode()); // at B
 * const news = surelyMissing(keysOfA, BloomFilter.decode(await receive())); // at A
 * ```
 */

export { ReconcileError, type ReconcileErrorCode } from '../reconcile-error.ts';
export { type BloomSummaryOptions, bloomSummary, type Summary, surelyMissing } from './bloom-summary.ts';
export {
  ReconciliationTree,
  type TreeSearch,
  type TreeSearchOptions,
  type TreeSummaryOptions,
} from './reconciliation-tree.ts';
export { bestLeafBits, expectedAccuracy, type TreeShape } from './tree-plan.ts';
export { type TreeDecodeOptions, TreeSummary } from './tree-summary.ts';
