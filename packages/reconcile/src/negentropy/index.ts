/**
 * The entry point `@bloomery/reconcile/negentropy`: version 1 of the negentropy protocol, which
 * nostr relays speak (NIP-77), as a codec and as a session without I/O. For peers of your own use
 * `@bloomery/reconcile`, which needs fewer bytes and no timestamps.
 *
 * @example
 * ```ts
 * import { NegentropyItems, NegentropySession } from '@bloomery/reconcile/negentropy';
 *
 * const session = new NegentropySession(new NegentropyItems(events), { role: 'initiator' });
 * for (let message = session.start(); message !== null; ) {
 *   message = session.receive(await ask(message)); // NEG-OPEN, then NEG-MSG
 * }
 * session.onlyThere; // ids to fetch
 * ```
 */

export { ReconcileError, type ReconcileErrorCode } from '../reconcile-error.ts';
export { type NegentropyItem, NegentropyItems } from './negentropy-items.ts';
export {
  decodeNegentropy,
  encodeNegentropy,
  type NegentropyBound,
  type NegentropyRange,
} from './negentropy-message.ts';
export { type NegentropyOptions, NegentropySession } from './negentropy-session.ts';
