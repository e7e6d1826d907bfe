/**
 * Annotations for browsers and Node: the form of URLs, digests of pages, and published lists of
 * annotated pages (docs/spec/annotations.md). The server is `@bloomery/stores/annotations/server`.
 *
 * @example
 * ```ts
 * import { FilterFollower, normalizeUrl, pageId, prefixOf } from '@bloomery/stores/annotations';
 *
 * const follower = new FilterFollower({ group: 'public', keys: [publicKey], random: Math.random });
 * ```
 */

export { canonicalUrl, MOST_URL_LENGTH, normalizeUrl, URL_FORM } from './pages/normalize-url.ts';
export { idsWithPrefix, listKey, pageId, prefixBits, prefixOf } from './pages/page-id.ts';
export { isTrackingParameter } from './pages/tracking-parameters.ts';
export {
  FilterFollower,
  type FollowerOptions,
  type FollowerOutcome,
  type FollowerStep,
  type HeldList,
} from './publication/filter-follower.ts';
export {
  epochAt,
  fileFrom,
  fullFile,
  HEAD_FILE,
  PERIOD_S,
  readFileName,
  signedName,
  updateFile,
  WINDOWS,
} from './publication/list-files.ts';
export {
  buildList,
  capacityFor,
  type ListStep,
  type Publication,
  type PublishedList,
  type PublishListOptions,
  publishList,
} from './publication/publish-list.ts';
