/**
 * Set reconciliation: which of my keys do you lack, and which of yours do I?
 *
 * @example
 * ```ts
 * import { reconcile } from '@bloomery/reconcile';
 *
 * const { onlyHere } = await reconcile(keys, { readable, writable }, { role: 'initiator' });
 * ```
 */

export { KeySet, type KeySetDecodeOptions, type KeySetOptions } from './key-set/key-set.ts';
export { ReconcileError, type ReconcileErrorCode } from './reconcile-error.ts';
export {
  type ReconcileKeys,
  type ReconcileProgress,
  type ReconcileResult,
  Reconciler,
  type ReconcilerOptions,
} from './reconciler.ts';
export {
  type ResumableOptions,
  type ResumableProgress,
  ResumableReconciler,
} from './resumable-reconciler.ts';
export type { ReconcileMethod } from './session/role.ts';
export type { ByteDuplex, ByteSink, ByteSource } from './streams/byte-duplex.ts';
export { type ReconcileOptions, type ReconcileOutcome, reconcile } from './streams/reconcile.ts';
