/**
 * The summary that a peer publishes of its folder: the hashes of its keys and of its objects, as
 * two sets of positions, and the card. Changes of one moment go out together, after `gatherMs`.
 *
 * The hashes are keyed with a secret of the group, so a summary tells an outsider the number of
 * words and nothing else. A member can test words, which is what it is for.
 *
 * Every document has a hash of its own among the objects: the first copy of a content has that of
 * its digest, the second that of digest and number. So the number of positions bounds the number of
 * documents that a peer may claim (summary-sizes.ts).
 *
 * A heartbeat carries the card and the names of the generations, so that a subscriber that lost a
 * message notices. It comes `heartbeatMs` after the last message.
 */

import type { Cancel, Clock, Transport } from '@bloomery/transport';
import { type HashScheme, hashKey, type KeyHash } from 'bloomery';
import { SetPublisher } from 'bloomery/wire';
import { type FolderCard, readBundle, writeBundle } from './bundle.ts';
import { SearchError } from './search-error.ts';
import { keysUniverse, type ObjectBits, objectsUniverse } from './summary-sizes.ts';

export const SUMMARY_TOPIC = 'share-summary';
export const SYNC_TOPIC = 'share-sync';

export interface OwnSummaryOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  /** The scheme of the group's keyed hashes. */
  readonly scheme: HashScheme;
  /** The name of the folder, for people. */
  readonly label: string;
  /** Bits per object in a message. Default 8. */
  readonly objectBits?: ObjectBits | undefined;
  /** Time in which changes are gathered. Default 100 ms. */
  readonly gatherMs?: number | undefined;
  /** Default 5 s. */
  readonly heartbeatMs?: number | undefined;
}

/** Time between two full states that are left for peers that join. */
const LEAVE_MS = 5000;

export class OwnSummary {
  readonly #options: OwnSummaryOptions;
  readonly #objectBits: ObjectBits;
  readonly #gatherMs: number;
  readonly #heartbeatMs: number;
  readonly #keys: SetPublisher;
  readonly #objects: SetPublisher;
  /** The hashes in the sets, because a resize needs all of them. */
  readonly #heldKeys = new Map<string, KeyHash>();
  readonly #heldObjects = new Map<string, KeyHash>();
  readonly #copies = new Map<string, number>();
  readonly #stopServing: Cancel;
  #card: FolderCard;
  #documents = 0;
  #isChanged = false;
  #stopTimer: Cancel = () => {};
  #stopLeaving: Cancel | null = null;
  #isClosed = false;
  /** Bytes that were published so far, once for all peers. */
  publishedBytes = 0;

  constructor(options: OwnSummaryOptions) {
    const { transport, clock, scheme, objectBits = 8, gatherMs = 100, heartbeatMs = 5000 } = options;
    this.#options = options;
    this.#objectBits = objectBits;
    this.#gatherMs = gatherMs;
    this.#heartbeatMs = heartbeatMs;
    const start = Math.floor(clock.now());
    this.#card = { start, sequence: 0, documents: 0, keys: 0, label: options.label };
    const common = { incarnation: start, scheme };
    this.#keys = new SetPublisher({ ...common, publisherId: 1, universe: keysUniverse(0, 0) });
    this.#objects = new SetPublisher({
      ...common,
      publisherId: 2,
      universe: objectsUniverse(0, 0, objectBits),
    });
    this.#stopServing = transport.serve(SYNC_TOPIC, (body) => this.#answer(body));
    this.#wait(heartbeatMs * clock.random());
  }

  /** The card of the last generation. */
  get card(): FolderCard {
    return this.#card;
  }

  /** A key of the folder has come or gone. */
  setKey(key: string, isThere: boolean): void {
    const hash = isThere ? hashKey(key, this.#options.scheme) : this.#heldKeys.get(key)!;
    if (isThere) {
      this.#keys.addHash(hash);
      this.#heldKeys.set(key, hash);
    } else {
      this.#keys.deleteHash(hash);
      this.#heldKeys.delete(key);
    }
    this.#changed();
  }

  /** A document has come; `objectId` are the first 64 bits of its SHA-256 in hex digits. */
  addObject(objectId: string): void {
    const copies = this.#copies.get(objectId) ?? 0;
    this.#copies.set(objectId, copies + 1);
    const name = copyName(objectId, copies);
    const hash = hashKey(name, this.#options.scheme);
    this.#objects.addHash(hash);
    this.#heldObjects.set(name, hash);
    this.#documents++;
    this.#changed();
  }

  removeObject(objectId: string): void {
    const copies = this.#copies.get(objectId)! - 1;
    if (copies === 0) this.#copies.delete(objectId);
    else this.#copies.set(objectId, copies);
    const name = copyName(objectId, copies);
    this.#objects.deleteHash(this.#heldObjects.get(name)!);
    this.#heldObjects.delete(name);
    this.#documents--;
    this.#changed();
  }

  /** Publishes what has changed, at once. */
  flush(): void {
    this.#tick();
  }

  close(): void {
    this.#isClosed = true;
    this.#stopTimer();
    this.#stopLeaving?.();
    this.#stopServing();
  }

  #changed(): void {
    if (this.#isChanged || this.#isClosed) return;
    this.#isChanged = true;
    this.#stopTimer();
    this.#wait(this.#gatherMs);
  }

  #wait(ms: number): void {
    this.#stopTimer = this.#options.clock.after(ms, () => this.#tick());
  }

  #tick(): void {
    if (this.#isClosed) return;
    this.#stopTimer();
    const isChanged = this.#isChanged;
    const { keys, objects } = isChanged ? this.#closeGeneration() : {};
    const message = writeBundle({
      card: this.#card,
      keys: keys ?? this.#keys.heartbeat(),
      objects: objects ?? this.#objects.heartbeat(),
    });
    this.publishedBytes += message.length;
    this.#options.transport.publish(SUMMARY_TOPIC, message);
    if (isChanged) this.#leaveSoon();
    this.#wait(this.#heartbeatMs);
  }

  /** Closes a generation of both sets. Returns the messages of those that have changed. */
  #closeGeneration(): { keys?: Uint8Array | undefined; objects?: Uint8Array | undefined } {
    this.#isChanged = false;
    const { start, sequence, label } = this.#card;
    const [keys, objects] = [this.#heldKeys, this.#heldObjects];
    this.#card = { start, sequence: sequence + 1, documents: this.#documents, keys: keys.size, label };
    const universe = objectsUniverse(objects.size, this.#objects.universe, this.#objectBits);
    return {
      keys: publishOrResize(this.#keys, keysUniverse(keys.size, this.#keys.universe), keys.values()),
      objects: publishOrResize(this.#objects, universe, objects.values()),
    };
  }

  #answer(body: Uint8Array): Uint8Array {
    const asked = readBundle(body);
    const keys = asked.keys && this.#keys.answer(asked.keys);
    const objects = asked.objects && this.#objects.answer(asked.objects);
    if (keys === null || objects === null)
      throw new SearchError('answer', 'Cannot answer: expected requests to this peer, got others');
    return writeBundle({ card: this.#card, keys, objects });
  }

  #leaveSoon(): void {
    const { transport, clock } = this.#options;
    if (transport.leaveState === undefined || this.#stopLeaving !== null) return;
    this.#stopLeaving = clock.after(LEAVE_MS, () => {
      this.#stopLeaving = null;
      const state = writeBundle({
        card: this.#card,
        keys: this.#keys.full(),
        objects: this.#objects.full(),
      });
      transport.leaveState?.(SUMMARY_TOPIC, state);
    });
  }
}

function copyName(objectId: string, copy: number): string {
  return copy === 0 ? objectId : `${objectId} ${copy}`;
}

function publishOrResize(
  publisher: SetPublisher,
  universe: number,
  hashes: Iterable<KeyHash>,
): Uint8Array | undefined {
  if (universe !== publisher.universe) return publisher.resize(universe, hashes);
  return publisher.publish() ?? undefined;
}
