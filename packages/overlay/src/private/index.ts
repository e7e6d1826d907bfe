/**
 * Private sharing: sets that friends compare, and what each way tells the other side.
 *
 * @example
 * ```ts
 * import { keyedFilter } from '@bloomery/overlay/private';
 *
 * const filter = keyedFilter(addresses, { secret, from: 'ann@example.org' });
 * send(filter.encode());
 * ```
 */

export { DictionaryAttack } from './attack/dictionary-attack.ts';
export { withFields } from './contacts/mail-head.ts';
export { attachPart, findPart, SHARE_TYPE } from './contacts/mime-part.ts';
export { normalizeAddress } from './contacts/normalize-address.ts';
export {
  type ContactFormat,
  type ContactOptions,
  type Contacts,
  readContacts,
} from './contacts/read-contacts.ts';
export { senderOf } from './contacts/read-mbox.ts';
export { type Acquaintance, Acquaintances } from './filters/acquaintances.ts';
export { CompositeWhitelist, type CompositeWhitelistOptions } from './filters/composite-whitelist.ts';
export { type KeyedFilterOptions, keyedFilter, paddedSize, sharedKey } from './filters/keyed-filter.ts';
export { type NoisyFilterOptions, NoisyFilters, noisyFilter } from './filters/noisy-filters.ts';
export { RandomisedFilter } from './filters/randomised-filter.ts';
export {
  RandomisedPublisher,
  type RandomisedPublisherOptions,
  type RandomisedState,
} from './filters/randomised-publisher.ts';
export { openSealed, type SealedFilter, type SealOptions, sealFilter } from './filters/sealed-filter.ts';
export {
  type IntersectionChannel,
  type IntersectOptions,
  intersect,
} from './intersection/intersect.ts';
export { IntersectionError, type IntersectionErrorCode } from './intersection/intersection-error.ts';
export {
  type IntersectionOptions,
  type IntersectionResult,
  IntersectionSession,
} from './intersection/intersection-session.ts';
export type { Revealed } from './intersection/messages.ts';
export type { PrimeOrderGroup } from './intersection/prime-order-group.ts';
export type { RandomSource } from './intersection/shuffle.ts';
export type { OverlapEstimate } from './math/randomised-response.ts';
export { SharingError, type SharingErrorCode } from './sharing-error.ts';
