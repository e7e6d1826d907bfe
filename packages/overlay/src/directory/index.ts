/**
 * The directory of summaries: what every peer knows about the folders of the others.
 */

export type { FolderCard } from './bundle.ts';
export { OwnSummary, type OwnSummaryOptions } from './own-summary.ts';
export {
  type DirectoryLimits,
  type DirectoryPeer,
  PeerDirectory,
  type PeerDirectoryOptions,
} from './peer-directory.ts';
export { SearchError, type SearchErrorCode } from './search-error.ts';
export type { ObjectBits } from './summary-sizes.ts';
