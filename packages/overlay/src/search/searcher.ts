/**
 * Searches the folders of all groups that this peer is in, its own among them, and gives the result
 * that one index over all of them would give. decisions/rank-round.ts decides; this file asks.
 *
 * A peer that does not answer in time, or answers garbage, is left out of this search and named in
 * `failed`. Peers that are offline are named in `offline`. A mark says which of these may have a
 * document, by their last summary.
 */

import type { Transport } from '@bloomery/transport';
import { type HashScheme, hashKey } from 'bloomery';
import type { DirectoryPeer, PeerDirectory } from '../directory/peer-directory.ts';
import type { Answer, Question } from './decisions/answer-question.ts';
import { RankRound, type RankSource } from './decisions/rank-round.ts';
import { compareResults } from './decisions/score.ts';
import { FETCH_TOPIC, HOLDING_TOPIC, SCORE_TOPIC, type SharedFolder } from './shared-folder.ts';
import { parseQuery, type Query } from './terms/query.ts';
import type { Snippet } from './terms/snippet.ts';
import {
  type FetchedDocument,
  readDocuments,
  readPaths,
  writeDocuments,
  writeHolding,
  writeWish,
} from './wire/document-message.ts';
import { MOST_RESULTS, readScores, writeQuestion } from './wire/score-message.ts';

/** A group as a member sees it: its folder there, and the directory of the others. */
export interface SearchGroup {
  readonly name: string;
  readonly transport: Transport;
  readonly directory: PeerDirectory;
  readonly scheme: HashScheme;
  readonly folder: SharedFolder;
}

export interface SearchOptions {
  /** The most results. Default 10, at most 100. */
  readonly most?: number | undefined;
  /** Time that a peer has for each answer. Default 2 s. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface FoundDocument {
  readonly score: number;
  readonly peer: string;
  readonly group: string;
  readonly path: string;
  readonly bytes: number;
  /** The last change of the file, in seconds since 1970. */
  readonly changed: number;
  readonly objectId: string;
  readonly snippet: Snippet;
}

export interface OfflinePeer {
  readonly peer: string;
  readonly group: string;
  readonly since: number;
  /** False if it certainly had no matching document when it was last heard. */
  readonly mayHave: boolean;
}

export interface FailedPeer {
  readonly peer: string;
  readonly group: string;
  readonly why: string;
}

export interface SearchResult {
  readonly results: readonly FoundDocument[];
  /** Documents that match, at all peers that answered. */
  readonly matching: number;
  /** Documents of all peers that took part. */
  readonly documents: number;
  /** The cost of the search, this peer's own folders left out. */
  readonly cost: SearchCost;
  readonly offline: readonly OfflinePeer[];
  readonly failed: readonly FailedPeer[];
}

export interface SearchCost {
  /** Peers that were asked for scores, and questions beyond the first of a peer. */
  readonly scored: number;
  readonly askedTwice: number;
  /** Peers that documents were fetched from. */
  readonly fetched: number;
  /** Bytes of questions and answers of either kind, without the heads of the transport. */
  readonly scoreBytes: number;
  readonly documentBytes: number;
}

interface Source extends RankSource {
  readonly group: SearchGroup;
  /** The address of the peer, or null for this peer's own folder. */
  readonly address: string | null;
}

const TIMEOUT_MS = 2000;
const MOST = 10;

export class Searcher {
  readonly #self: string;
  readonly #groups: () => readonly SearchGroup[];

  /** `groups` are those of the moment of a search. */
  constructor(self: string, groups: () => readonly SearchGroup[]) {
    this.#self = self;
    this.#groups = groups;
  }

  async search(text: string, options: SearchOptions = {}): Promise<SearchResult> {
    const { most = MOST } = options;
    if (!Number.isInteger(most) || most < 1 || most > MOST_RESULTS)
      throw new RangeError(`Cannot search: expected 1 to ${MOST_RESULTS} results, got ${most}`);
    return await new Search(this.#self, this.#groups(), parseQuery(text), { ...options, most }).run();
  }

  /** The peers that hold a file of this SHA-256, with its paths there. Asks those that may. */
  async locate(
    digest: Uint8Array,
    { timeoutMs = TIMEOUT_MS, signal }: Omit<SearchOptions, 'most'> = {},
  ): Promise<{ readonly peer: string; readonly group: string; readonly paths: readonly string[] }[]> {
    const digits = Buffer.from(digest).toString('hex');
    const body = writeHolding(digest);
    const asked = this.#groups().flatMap((group) => {
      const hash = hashKey(digits.slice(0, 16), group.scheme);
      const peers = group.directory.peers().filter((peer) => peer.isOnline && peer.mayHaveObject(hash));
      const own = { peer: this.#self, group: group.name, paths: group.folder.pathsOf(digits) };
      return [
        Promise.resolve(own),
        ...peers.map(async ({ address, id }) => {
          const paths = await group.transport
            .request(address, HOLDING_TOPIC, body, { timeoutMs, signal })
            .then(readPaths)
            .catch(() => []);
          return { peer: id ?? address, group: group.name, paths };
        }),
      ];
    });
    return (await Promise.all(asked)).filter(({ paths }) => paths.length > 0);
  }
}

class Search {
  readonly #query: Query;
  readonly #options: SearchOptions & { readonly most: number };
  readonly #sources: readonly Source[];
  readonly #offline: OfflinePeer[] = [];
  readonly #failed: FailedPeer[] = [];
  readonly #round: RankRound;
  readonly #documents = new Map<string, FetchedDocument>();
  readonly #scored = new Set<number>();
  readonly #fetched = new Set<number>();
  #scoreBytes = 0;
  #documentBytes = 0;

  constructor(
    self: string,
    groups: readonly SearchGroup[],
    query: Query,
    options: SearchOptions & { readonly most: number },
  ) {
    this.#query = query;
    this.#options = options;
    this.#sources = groups.flatMap((group) => this.#sourcesOf(group, self));
    this.#round = new RankRound(query, this.#sources, options.most);
  }

  async run(): Promise<SearchResult> {
    for (let step = this.#round.next(); step.kind !== 'done'; step = this.#round.next()) {
      this.#options.signal?.throwIfAborted();
      if (step.kind === 'ask')
        await Promise.all([...step.questions].map(([source, question]) => this.#ask(source, question)));
      else await Promise.all([...step.wanted].map(([source, handles]) => this.#fetch(source, handles)));
    }
    const results = this.#round.ranked().map(({ source, handle, score }) => {
      const { peer, group } = this.#sources[source];
      return { score, peer, group: group.name, ...this.#documents.get(documentKey(source, handle))! };
    });
    return {
      results: results
        .sort(compareResults)
        .slice(0, this.#options.most)
        .map(({ handle: _, ...found }) => found),
      matching: this.#round.matching,
      documents: this.#round.documents,
      cost: {
        scored: this.#scored.size,
        askedTwice: this.#round.followUps,
        fetched: this.#fetched.size,
        scoreBytes: this.#scoreBytes,
        documentBytes: this.#documentBytes,
      },
      offline: this.#offline,
      failed: this.#failed,
    };
  }

  #sourcesOf(group: SearchGroup, self: string): Source[] {
    const { keys, types } = this.#query;
    const hashes = keys.map((key) => hashKey(key, group.scheme));
    const typeHashes = types.map((type) => hashKey(`type:${type}`, group.scheme));
    const { index } = group.folder;
    const own: Source = {
      peer: self,
      group,
      address: null,
      documents: index.size,
      mostDocuments: index.size,
      maybe: keys.map((key) => index.postings(key).size > 0),
      mayHaveType: types.some((type) => index.postings(`type:${type}`).size > 0),
    };
    const sources = [own];
    for (const peer of group.directory.peers()) {
      const source: Source = {
        ...facts(peer),
        group,
        maybe: hashes.map((hash) => peer.mayHaveKey(hash)),
        mayHaveType: typeHashes.some((hash) => peer.mayHaveKey(hash)),
      };
      if (peer.isOnline) sources.push(source);
      else if (peer.id !== null)
        this.#offline.push({
          peer: peer.id,
          group: group.name,
          since: peer.since,
          mayHave: this.#mayMatch(source),
        });
    }
    return sources;
  }

  #mayMatch({ maybe, mayHaveType }: RankSource): boolean {
    const { required, types } = this.#query;
    return maybe.some(Boolean) && required.every((key) => maybe[key]) && (types.length === 0 || mayHaveType);
  }

  async #ask(source: number, question: Question): Promise<void> {
    const { address, group } = this.#sources[source];
    if (address === null) {
      this.#round.answered(source, group.folder.answer(question));
      return;
    }
    this.#scored.add(source);
    const body = writeQuestion(question);
    this.#scoreBytes += body.length;
    let answer: Answer;
    try {
      const bytes = await this.#request(source, SCORE_TOPIC, body);
      this.#scoreBytes += bytes.length;
      answer = readScores(bytes);
    } catch (error) {
      this.#fail(source, error);
      return;
    }
    const problem = this.#round.answered(source, answer);
    if (problem !== null) this.#note(source, `its answer contradicts itself: ${problem}`);
  }

  async #fetch(source: number, handles: readonly number[]): Promise<void> {
    const { address, group } = this.#sources[source];
    const wish = { handles, keys: this.#query.keys };
    let documents: readonly FetchedDocument[];
    if (address === null) {
      // This peer's own folder takes the way of the others, so that its names are cleaned as well.
      documents = readDocuments(writeDocuments(await group.folder.fetch(wish)));
    } else {
      this.#fetched.add(source);
      const body = writeWish(wish);
      this.#documentBytes += body.length;
      try {
        const bytes = await this.#request(source, FETCH_TOPIC, body);
        this.#documentBytes += bytes.length;
        documents = readDocuments(bytes);
      } catch (error) {
        this.#fail(source, error);
        return;
      }
    }
    const wanted = new Set(handles);
    const came = documents.filter(({ handle }) => wanted.has(handle));
    for (const document of came) this.#documents.set(documentKey(source, document.handle), document);
    this.#round.fetched(
      source,
      handles,
      came.map(({ handle }) => handle),
    );
  }

  #request(source: number, topic: string, body: Uint8Array): Promise<Uint8Array> {
    const { address, group } = this.#sources[source];
    const { timeoutMs = TIMEOUT_MS, signal } = this.#options;
    return group.transport.request(address!, topic, body, { timeoutMs, signal });
  }

  #fail(source: number, error: unknown): void {
    this.#round.failed(source);
    this.#note(source, (error as Error).message);
  }

  #note(source: number, why: string): void {
    const { peer, group } = this.#sources[source];
    this.#failed.push({ peer, group: group.name, why });
  }
}

function documentKey(source: number, handle: number): string {
  return `${source} ${handle}`;
}

function facts(peer: DirectoryPeer) {
  const { id, address, card, isCurrent, mostDocuments } = peer;
  return {
    peer: id ?? address,
    address,
    documents: card?.documents ?? 0,
    // A peer whose summary has not come yet may claim any number of documents. At the next search
    // the summary bounds it.
    mostDocuments: isCurrent ? mostDocuments : UNKNOWN_DOCUMENTS,
  };
}

const UNKNOWN_DOCUMENTS = 1_000_000;
