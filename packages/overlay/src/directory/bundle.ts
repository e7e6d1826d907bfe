/**
 * The parts of a folder's summary in one message: its card, and the messages of two sync sessions
 * (docs/spec/sync.md), one about its keys and one about its objects. One message for all three
 * means one request where a link opens, and one publication where a file was saved.
 *
 *     bundle   version, flags, then each part that the flags name, behind its length; sum 4
 *     card     start, sequence, documents, keys, label
 *
 * The sum is that of everything before it. Adapters without signatures may damage a message, and a
 * card with a wrong sequence would be held forever.
 */

import { hashKey } from 'bloomery';

import { CompactReader, CompactWriter } from './compact-bytes.ts';

const VERSION = 1;
const LABEL_BYTES = 256;
const SUM_BYTES = 4;
const MOST_COUNT = 2 ** 32;

/** The facts about a folder that change with it. */
export interface FolderCard {
  /** Start of the process that shares, in ms since 1970. A later start replaces an earlier one. */
  readonly start: number;
  /** Rises with each change. */
  readonly sequence: number;
  readonly documents: number;
  readonly keys: number;
  /** The name that its owner gave the folder, for people. */
  readonly label: string;
}

export interface Bundle {
  readonly card?: FolderCard | undefined;
  /** A message of the session about keys. */
  readonly keys?: Uint8Array | undefined;
  /** A message of the session about objects. */
  readonly objects?: Uint8Array | undefined;
}

const [CARD, KEYS, OBJECTS] = [1, 2, 4];

export function writeBundle({ card, keys, objects }: Bundle): Uint8Array {
  const flags = (card ? CARD : 0) | (keys ? KEYS : 0) | (objects ? OBJECTS : 0);
  const writer = new CompactWriter(VERSION).byte(flags);
  if (card !== undefined)
    writer.count(card.start).count(card.sequence).count(card.documents).count(card.keys).text(card.label);
  if (keys !== undefined) writer.bytes(keys);
  if (objects !== undefined) writer.bytes(objects);
  const body = writer.finish();
  return new CompactWriter(VERSION).raw(body.subarray(1)).raw(sumOf(body)).finish();
}

/** Four bytes of the hash of a text. */
function sumOf(body: Uint8Array): Uint8Array {
  const sum = new Uint8Array(SUM_BYTES);
  new DataView(sum.buffer).setUint32(0, hashKey(body).low, true);
  return sum;
}

export function readBundle(bytes: Uint8Array): Bundle {
  const body = bytes.subarray(0, Math.max(0, bytes.length - SUM_BYTES));
  const reader = new CompactReader(body, VERSION);
  const sum = sumOf(body);
  if (sum.some((byte, i) => byte !== bytes[body.length + i])) reader.fail('the sum of the bundle', 'another');
  const flags = reader.byte();
  if (flags > (CARD | KEYS | OBJECTS)) reader.fail('known parts', `flags ${flags}`);
  const card =
    (flags & CARD) === 0
      ? undefined
      : {
          start: reader.count(),
          sequence: reader.count(),
          documents: reader.count(MOST_COUNT),
          keys: reader.count(MOST_COUNT),
          label: reader.text(LABEL_BYTES).replace(/[\p{Cc}\p{Cf}]/gu, '\ufffd'),
        };
  const part = (flag: number) => ((flags & flag) === 0 ? undefined : reader.bytes(bytes.length));
  const bundle = { card, keys: part(KEYS), objects: part(OBJECTS) };
  reader.end();
  return bundle;
}
