/**
 * Set reconciliation: which of my keys do you lack, and which of yours do I?
 *
 * @example
 * ```ts
 * import { Reconciler } from '@bloomery/reconcile';
 *
 * const random = crypto.getRandomValues(new Uint8Array(8));
 * const session = new Reconciler(keys, { role: 'initiator', random });
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
export type { ReconcileMethod } from './session/role.ts';
