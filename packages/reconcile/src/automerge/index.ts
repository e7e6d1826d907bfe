/**
 * The entry point `@bloomery/reconcile/automerge`: the filters of Automerge's sync messages, read
 * and written without Automerge.
 *
 * @example
 * ```ts
 * import { readAutomergeSync } from '@bloomery/reconcile/automerge';
 *
 * const [{ filter }] = readAutomergeSync(message).have;
 * const news = changeHashes.filter((hash) => !filter.has(hash)); // certainly new to the sender
 * ```
 */

export { ReconcileError, type ReconcileErrorCode } from '../reconcile-error.ts';
export { type AutomergeFilterOptions, AutomergeSyncFilter } from './sync-filter.ts';
export { type AutomergeHave, type AutomergeSyncMessage, readAutomergeSync } from './sync-message.ts';
