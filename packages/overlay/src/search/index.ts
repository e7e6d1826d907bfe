/**
 * Search in the folders of a group: every peer indexes its own, and a search gives what one index
 * over all of them would give. `@bloomery/overlay/search/node` shares a folder of the disk.
 */

export type { Answer, Hit, Question } from './decisions/answer-question.ts';
export { answerQuestion } from './decisions/answer-question.ts';
export { compareResults, scoreOf, termWeight } from './decisions/score.ts';
export {
  type FailedPeer,
  type FoundDocument,
  type OfflinePeer,
  type SearchCost,
  Searcher,
  type SearchGroup,
  type SearchOptions,
  type SearchResult,
} from './searcher.ts';
export { type FolderDocument, SharedFolder, type SharedFolderOptions } from './shared-folder.ts';
export { FolderIndex, type IndexedDocument } from './terms/folder-index.ts';
export { parseQuery, type Query } from './terms/query.ts';
export { type Snippet, snippetOf } from './terms/snippet.ts';
export { textTerms } from './terms/text-terms.ts';
