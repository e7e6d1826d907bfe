/**
 * Files on servers as targets of a search: `https://host/logs/` stands for the files of its index,
 * any other address for one file. The next files are opened while the present one is searched.
 */

import type { TargetOptions } from '../local-targets.ts';
import type { FileAnswer } from '../search-indexes.ts';
import { type FileKind, HEAD_BYTES, kindOfHead } from '../text-file.ts';
import type { OpenText, TextTarget } from '../text-target.ts';
import { HttpClient, shown, type Traffic } from './http-client.ts';
import { PlannedReads } from './planned-reads.ts';
import { RemoteError } from './remote-error.ts';
import { RemoteFile } from './remote-file.ts';
import { below, NOT_INDEXED, type RemoteAnswer, RemoteFolder } from './remote-folder.ts';
import { SequentialRead } from './sequential-read.ts';

export { headersOf } from './header-fields.ts';

export interface RemoteOptions extends TargetOptions {
  /** Fields of every request to the origin of the address. */
  readonly headers: Readonly<Record<string, string>>;
  readonly traffic: Traffic;
  /** Whether a path below a folder is wanted. */
  readonly isWanted: (path: string) => boolean;
}

export interface RemoteTargets {
  readonly targets: readonly TextTarget[];
  /** Whether the address is a folder. */
  readonly isFolder: boolean;
  close(): Promise<void>;
}

/** Files that are opened before they are searched. */
const AHEAD = 6;
const MOST_PARENTS = 32;

export async function remoteTargets(address: string, options: RemoteOptions): Promise<RemoteTargets> {
  const { url, headers } = withoutCredentials(new URL(address), options.headers);
  const client = new HttpClient({ headers, origin: url.origin, traffic: options.traffic });
  try {
    const { folder, paths, isFolder } = await find(client, url, options);
    if (folder?.problem != null) options.onError(folder.problem);
    return { targets: inOrder(client, folder, url, paths), isFolder, close: () => client.close() };
  } catch (error) {
    await client.close();
    throw error;
  }
}

interface Found {
  readonly folder: RemoteFolder | null;
  /** Paths below the folder; without a folder, one empty path. */
  readonly paths: readonly string[];
  readonly isFolder: boolean;
}

async function find(
  client: HttpClient,
  url: URL,
  { required, counts, isWanted }: RemoteOptions,
): Promise<Found> {
  const search = { text: required, counts };
  const asFolder = new URL(url);
  if (!url.pathname.endsWith('/')) asFolder.pathname += '/';
  const folder = await RemoteFolder.open(client, asFolder, search);
  if (folder !== null) {
    const { files, unindexed = [] } = folder.manifest;
    const paths = [...files.map(({ path }) => path), ...unindexed].filter(isWanted).sort(byWalk);
    return { folder, paths, isFolder: true };
  }
  if (url.pathname.endsWith('/'))
    throw new RemoteError(
      'missing',
      `Cannot search ${shown(url)}: expected .bloomery/text.json there, got none; run bloomery index on the folder and upload its .bloomery as well`,
    );
  // A file, whose index may be in any folder above it.
  const names = url.pathname.split('/').slice(1);
  for (let depth = names.length - 1; depth >= Math.max(0, names.length - MOST_PARENTS); depth--) {
    const parent = new URL(url);
    parent.pathname = ['', ...names.slice(0, depth), ''].join('/');
    const found = await RemoteFolder.open(client, parent, search);
    if (found === null) continue;
    return { folder: found, paths: [names.slice(depth).map(decodeURIComponent).join('/')], isFolder: false };
  }
  return { folder: null, paths: [''], isFolder: false };
}

/** The order in which a folder at hand is searched: by the names in each folder. */
function byWalk(a: string, b: string): number {
  const [left, right] = [a.split('/'), b.split('/')];
  const at = left.findIndex((name, i) => name !== right[i]);
  return left[at] < right[at] ? -1 : 1;
}

function inOrder(
  client: HttpClient,
  folder: RemoteFolder | null,
  url: URL,
  paths: readonly string[],
): TextTarget[] {
  const prepared: Promise<Prepared>[] = [];
  const prepareAt = (i: number): Promise<Prepared> => {
    const at = folder === null ? url : below(folder.url, paths[i]);
    prepared[i] ??= prepare(client, folder, paths[i], at);
    // The search may end before it comes to this file.
    prepared[i].catch(() => {});
    return prepared[i];
  };
  return paths.map((path, i) => {
    const name = folder === null ? shown(url) : `${shown(folder.url)}${path}`;
    return {
      path: name,
      open: async () => {
        for (let next = i + 1; next <= i + AHEAD && next < paths.length; next++) prepareAt(next);
        const file = await prepareAt(i);
        // Its bytes are not needed any more once it was searched.
        delete prepared[i];
        return openPrepared(name, file);
      },
    };
  });
}

/** A file with the answer of the index. Its first candidate bytes are on their way. */
interface Prepared {
  readonly file: RemoteFile;
  readonly answer: FileAnswer;
  readonly plan: PlannedReads;
  /** The kind of the indexed file; null if the file is read whole. */
  readonly kind: FileKind | null;
}

async function prepare(
  client: HttpClient,
  folder: RemoteFolder | null,
  path: string,
  url: URL,
): Promise<Prepared> {
  const file = await RemoteFile.open(client, url);
  const { answer, kind }: RemoteAnswer = (await folder?.answer(path, file)) ?? NOT_INDEXED;
  const { size } = file.state;
  const ranges = answer.read === 'extents' ? answer.extents : [];
  const plan = new PlannedReads(
    file,
    ranges.map(({ source, sourceLength }) => {
      const offset = Math.min(source, size);
      return { offset, length: Math.min(sourceLength, size - offset) };
    }),
  );
  plan.begin();
  return { file, answer, plan, kind };
}

/**
 * Reads the first bytes of a file that is read whole. Only one file at a time has such a request.
 */
async function openPrepared(path: string, { file, answer, plan, kind }: Prepared): Promise<OpenText> {
  const sequence = new SequentialRead(file);
  try {
    return {
      path,
      kind: kind ?? kindOfHead(await sequence.read(0, HEAD_BYTES)),
      size: file.state.size,
      answer,
      read: plan.read,
      readAll: sequence.read,
      // Every answer of the server was compared with the first one.
      check: () => {},
      close: () => sequence.close(),
    };
  } catch (error) {
    sequence.close();
    throw error;
  }
}

/** Takes user and password out of an address. A field that was given is stronger. */
function withoutCredentials(url: URL, given: RemoteOptions['headers']) {
  const { username, password } = url;
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  url.username = '';
  url.password = '';
  url.hash = '';
  const headers =
    username === '' ? given : { authorization: `Basic ${Buffer.from(user).toString('base64')}`, ...given };
  return { url, headers };
}
