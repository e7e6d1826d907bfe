/**
 * A folder on a server that was indexed and then uploaded with its `.bloomery/`: the list of its
 * files, the search of its index, and whether a file is still the one that was indexed.
 *
 * The list was made before the upload, so it knows no ETag. But a server tells when a file came
 * there or was changed (`Last-Modified`), for the logs and for the list. A file with the size of
 * the list that is older than the list on the server was there when the list was uploaded, and has
 * not changed since. A file that is not older may have been replaced after that, and is read whole.
 * So the logs are uploaded first, and `.bloomery/` after them. Servers that keep the times of
 * files, as after `rsync -t`, have this order anyway.
 */

import { crc32 } from 'node:zlib';
import type { RequiredText } from '@bloomery/stores/text';
import { INDEX_FOLDER, type IndexedFile, type IndexManifest, parseManifest } from '../index-manifest.ts';
import { type FileAnswer, IndexSearch, type SearchCounts, type WholeReason } from '../search-indexes.ts';
import type { FileKind } from '../text-file.ts';
import { checkedManifest } from './checked-manifest.ts';
import { type HttpClient, shown } from './http-client.ts';
import { RemoteError } from './remote-error.ts';
import { bodyOf, RemoteFile, type RemoteState, statusError } from './remote-file.ts';

/**
 * The parts of a file to read, and its kind. The kind is null if the file is read whole, because
 * its first bytes tell it then.
 */
export interface RemoteAnswer {
  readonly answer: FileAnswer;
  readonly kind: FileKind | null;
}

export const NOT_INDEXED: RemoteAnswer = { answer: { read: 'all', why: 'not indexed' }, kind: null };

/** About half a million files. */
const MOST_LIST = 256 << 20;
const EDGE = 65536;

export class RemoteFolder {
  /** The address of the folder, which ends in a slash, with its credentials. */
  readonly url: URL;
  readonly manifest: IndexManifest;
  readonly #search: IndexSearch;
  readonly #byPath: ReadonlyMap<string, IndexedFile>;
  /** The time of the list on the server in seconds, or null if the server does not tell it. */
  readonly #listed: number | null;

  private constructor(url: URL, manifest: IndexManifest, search: IndexSearch, listed: number | null) {
    this.url = url;
    this.manifest = manifest;
    this.#search = search;
    this.#listed = listed;
    this.#byPath = new Map(manifest.files.map((file) => [file.path, file]));
  }

  /** Reads the list and searches the index; null if there is no list. */
  static async open(
    client: HttpClient,
    url: URL,
    { text, counts }: { text: RequiredText; counts: SearchCounts },
  ): Promise<RemoteFolder | null> {
    const listUrl = below(url, `${INDEX_FOLDER}/text.json`);
    const list = await client.ask({ url: listUrl, method: 'GET' }, async (answer) => {
      if ([404, 403, 410].includes(answer.status)) return null;
      if (answer.status !== 200) throw statusError(listUrl, answer.status);
      const bytes = await bodyOf(answer, listUrl, MOST_LIST, { exactly: false });
      return { bytes, modified: answer.header('last-modified') };
    });
    if (list === null) return null;
    const where = shown(listUrl);
    const manifest = checkedManifest(parseManifest(Buffer.from(list.bytes).toString(), where), where);
    const search = await IndexSearch.run(manifest.indexes, {
      text,
      counts,
      open: async ({ name }) => ({
        source: (await RemoteFile.open(client, below(url, `${INDEX_FOLDER}/${name}`))).asRangeSource(),
      }),
      reasonOf: (error) => (isWithoutRanges(error) ? 'no ranges' : 'damaged index'),
    });
    return new RemoteFolder(url, manifest, search, secondsOf(list.modified));
  }

  /** The fault of the index, for one message; null if it has none. */
  get problem(): string | null {
    const { problem, problemName } = this.#search;
    if (problem === null) return null;
    if (isWithoutRanges(problem))
      return `${shown(this.url)}: the server does not answer range requests; all files are read whole`;
    return `${shown(this.url)}${INDEX_FOLDER}/${problemName}: ${problem.message}; its files are read whole; index the folder again and upload it`;
  }

  /** Tells which parts of a file must be read. */
  async answer(path: string, file: RemoteFile): Promise<RemoteAnswer> {
    const known = this.#byPath.get(path);
    if (known === undefined) return NOT_INDEXED;
    const { state } = file;
    const whole = (why: WholeReason) => ({ answer: { read: 'all', why } as const, kind: null });
    const indexed = (isGrown: boolean) => {
      const answer = this.#search.answer(known, isGrown);
      return { answer, kind: answer.read === 'all' ? null : known.kind };
    };
    if (state.size > known.size && known.kind === 'plain' && known.size > 0 && Number.isFinite(state.size))
      return (await hasEdges(file, known)) ? indexed(true) : whole('changed');
    if (state.size !== known.size || known.modified === '') return whole('changed');
    const isOlder = this.#isOlder(state, known);
    if (isOlder === null) return whole('unknown age');
    return isOlder ? indexed(false) : whole('changed');
  }

  /**
   * Whether a file was on the server before the list, and came there after its last change. Null if
   * the server does not tell the times. Times are whole seconds, so equal ones prove nothing.
   */
  #isOlder({ modified }: RemoteState, known: IndexedFile): boolean | null {
    const uploaded = secondsOf(modified);
    if (uploaded === null || this.#listed === null) return null;
    const changed = Number(BigInt(known.modified) / 1_000_000_000n);
    return changed <= uploaded && uploaded < this.#listed;
  }
}

/** The address of a file below a folder. The query stays, because it may be a signature. */
export function below(folder: URL, path: string): URL {
  const url = new URL(folder);
  url.pathname += path.split('/').map(encodeURIComponent).join('/');
  return url;
}

function secondsOf(date: string | null): number | null {
  const time = date === null ? Number.NaN : Date.parse(date);
  return Number.isNaN(time) ? null : Math.floor(time / 1000);
}

/** Whether a log that has grown still has its former first and last bytes. */
async function hasEdges(file: RemoteFile, { size, head, tail }: IndexedFile): Promise<boolean> {
  const length = Math.min(size, EDGE);
  try {
    const [first, last] = await Promise.all([file.range(0, length), file.range(size - length, length)]);
    return crc32(first) === head && crc32(last) === tail;
  } catch (error) {
    if (isWithoutRanges(error)) return false;
    throw error;
  }
}

function isWithoutRanges(error: unknown): boolean {
  return error instanceof RemoteError && error.code === 'no-ranges';
}
