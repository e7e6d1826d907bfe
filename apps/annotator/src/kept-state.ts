/**
 * Everything that the extension keeps, in IndexedDB: settings, what the server said about itself,
 * the lists as plain frames, notes that wait to be sent, and the pages of own notes.
 *
 * A service worker dies after 30 s without work and starts again for the next page. So the lists
 * are kept in the form in which they are asked, and reading them is all that a start has to do.
 */

import type { HeldList } from '@bloomery/stores/annotations';

export interface Settings {
  /** The address of the server, without a slash at the end. */
  readonly address: string;
  /** The key that signs the lists: 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly token: string;
}

export interface ServerFacts {
  readonly name: string;
  readonly periodS: number;
  readonly user: { readonly name: string; readonly isModerator: boolean } | null;
  readonly groups: readonly GroupFacts[];
}

export interface GroupFacts {
  readonly name: string;
  /** The key of a private group, or null. */
  readonly key: Uint8Array | null;
  /** The server's word. The extension computes the bits from the signed list. */
  readonly prefixBits: number;
}

/** A note that waits to be sent, or was refused. */
export interface QueuedNote {
  readonly id: string;
  readonly group: string;
  readonly url: string;
  readonly text: string;
  readonly parent: string | null;
  readonly atS: number;
  /** The server's reason for a refusal. */
  readonly refused?: string;
}

/** A page with a note of this user that the published list may not have yet. */
interface OwnPage {
  readonly group: string;
  readonly url: string;
  readonly atS: number;
}

export interface KeptState {
  readonly settings?: Settings;
  readonly server?: ServerFacts;
  readonly lists: Readonly<Record<string, HeldList>>;
  readonly queue: readonly QueuedNote[];
  readonly own: readonly OwnPage[];
}

const STORE = 'state';

function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

let opening: Promise<IDBDatabase> | undefined;

function database(): Promise<IDBDatabase> {
  opening ??= (async () => {
    const request = indexedDB.open('annotator', 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    return done(request);
  })();
  return opening;
}

/** Reads everything in one transaction. */
export async function readState(): Promise<KeptState> {
  const store = (await database()).transaction(STORE).objectStore(STORE);
  const [keys, values] = await Promise.all([done(store.getAllKeys()), done(store.getAll())]);
  const found = new Map(keys.map((key, i) => [String(key), values[i]]));
  const lists: Record<string, HeldList> = {};
  for (const [key, value] of found) if (key.startsWith('list ')) lists[key.slice(5)] = value;
  return {
    settings: found.get('settings'),
    server: found.get('server'),
    lists,
    queue: found.get('queue') ?? [],
    own: found.get('own') ?? [],
  };
}

/** Writes one value. When the promise is fulfilled, the transaction is complete. */
export async function keep(
  key: 'settings' | 'server' | 'queue' | 'own' | `list ${string}`,
  value: unknown,
): Promise<void> {
  await change((store) => store.put(value, key));
}

/** Forgets everything that belongs to a server. */
export async function forget(): Promise<void> {
  await change((store) => store.clear());
}

async function change(work: (store: IDBObjectStore) => void): Promise<void> {
  const transaction = (await database()).transaction(STORE, 'readwrite');
  work(transaction.objectStore(STORE));
  await new Promise<void>((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onerror = () => reject(transaction.error);
    transaction.onabort = () => reject(transaction.error);
  });
}
