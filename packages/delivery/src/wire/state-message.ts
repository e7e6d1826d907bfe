/**
 * The messages by which a node tells its followers which blocks it has. docs/spec/delivery.md has
 * the bytes. A reader knows the number of blocks from the head before it, and refuses every length
 * that this number does not allow, before it allocates anything.
 */

import { decodeBits, encodeBits } from 'bloomery/wire';
import { BlockSet } from '../decisions/block-set.ts';
import { MOST_SIZE } from '../decisions/file-shape.ts';
import { DeliveryError } from '../delivery-error.ts';
import { HASH_BYTES } from './hash-list.ts';

export interface Head {
  readonly type: 'head';
  /** The size of the file, or null if the node does not know it yet. */
  readonly size: number | null;
  readonly isComplete: boolean;
  /** Whether the node may ask the origin, and so owns some of its blocks. */
  readonly asksOrigin: boolean;
  /** 32 hexadecimal digits that the node drew when it began. */
  readonly node: string;
  /** The name of the list of hashes that it works by, or null. */
  readonly list: string | null;
}

export interface ToldHash {
  readonly block: number;
  readonly isFirstHand: boolean;
  readonly hash: Uint8Array;
}

export type StateMessage =
  | Head
  | { readonly type: 'blocks'; readonly has: BlockSet }
  | { readonly type: 'more'; readonly blocks: readonly number[] }
  | { readonly type: 'hashes'; readonly hashes: readonly ToldHash[] }
  | { readonly type: 'fetching'; readonly blocks: readonly number[] }
  | { readonly type: 'peers'; readonly addresses: readonly string[] };

const TYPES = ['head', 'blocks', 'more', 'hashes', 'fetching', 'peers'] as const;
const VERSION = 1;
const HEAD_BODY = 58;
const SMALL_BYTES = 16 * 1024;
const HASH_ENTRY = 5 + HASH_BYTES;
/** Hashes of one message. A node with more of them sends several. */
export const MOST_HASHES = 1024;
const NO_LIST = '0'.repeat(64);

/** The bytes of a message, its length included. */
export function writeStateMessage(message: StateMessage): Uint8Array {
  const body = bodyOf(message);
  const bytes = new Uint8Array(5 + body.length);
  new DataView(bytes.buffer).setUint32(0, 1 + body.length, true);
  bytes[4] = 1 + TYPES.indexOf(message.type);
  bytes.set(body, 5);
  return bytes;
}

/** The most bytes of the rest of a message of this type, for a file of this many blocks. */
export function mostMessageBytes(type: number, blocks: number): number {
  switch (TYPES[type - 1]) {
    case 'blocks':
      return 64 + Math.ceil(blocks / 8);
    case 'more':
      return 16 + 3 * blocks;
    case 'hashes':
      return 1 + HASH_ENTRY * Math.min(blocks, MOST_HASHES);
    default:
      return SMALL_BYTES;
  }
}

/**
 * Reads the type and the body of a message. `blocks` is the number of blocks by the last head.
 * Throws a DeliveryError if the bytes are no message.
 */
export function readStateMessage(bytes: Uint8Array, blocks: number): StateMessage {
  const type = TYPES[bytes[0]! - 1];
  const body = bytes.subarray(1);
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  switch (type) {
    case 'head':
      return readHead(body, view);
    case 'blocks':
      return { type, has: readBlocks(body, blocks) };
    case 'more':
      return { type, blocks: readRising(body, blocks) };
    case 'hashes':
      return { type, hashes: readHashes(body, view, blocks) };
    case 'fetching': {
      if (body.length % 4 !== 0) throw unreadable('numbers of 4 bytes', `${body.length} bytes`);
      const numbers = Array.from({ length: body.length / 4 }, (_, i) => view.getUint32(4 * i, true));
      return { type, blocks: numbers.map((block) => checkBlock(block, blocks)) };
    }
    case 'peers': {
      const text = new TextDecoder().decode(body);
      return { type, addresses: text.split('\n').filter((line) => line !== '') };
    }
    default:
      throw unreadable('a type of 1 to 6', bytes[0] ?? 'nothing');
  }
}

function bodyOf(message: StateMessage): Uint8Array {
  switch (message.type) {
    case 'head':
      return headBody(message);
    case 'blocks':
      return message.has.blocks === 0 ? new Uint8Array(0) : encodeBits(message.has.words, message.has.blocks);
    case 'more':
      return risingBody(message.blocks);
    case 'hashes': {
      const body = new Uint8Array(message.hashes.length * HASH_ENTRY);
      const view = new DataView(body.buffer);
      for (const [i, { block, isFirstHand, hash }] of message.hashes.entries()) {
        view.setUint32(i * HASH_ENTRY, block, true);
        body[i * HASH_ENTRY + 4] = isFirstHand ? 1 : 0;
        body.set(hash, i * HASH_ENTRY + 5);
      }
      return body;
    }
    case 'fetching': {
      const body = new Uint8Array(4 * message.blocks.length);
      const view = new DataView(body.buffer);
      for (const [i, block] of message.blocks.entries()) view.setUint32(4 * i, block, true);
      return body;
    }
    case 'peers':
      return new TextEncoder().encode(message.addresses.join('\n'));
  }
}

function headBody({ size, isComplete, asksOrigin, node, list }: Head): Uint8Array {
  const body = new Uint8Array(HEAD_BODY);
  body[0] = VERSION;
  body[1] = (size === null ? 0 : 1) | (isComplete ? 2 : 0) | (asksOrigin ? 4 : 0);
  new DataView(body.buffer).setBigUint64(2, BigInt(size ?? 0), true);
  body.set(Buffer.from(node, 'hex'), 10);
  body.set(Buffer.from(list ?? NO_LIST, 'hex'), 26);
  return body;
}

function readHead(body: Uint8Array, view: DataView): Head {
  if (body.length !== HEAD_BODY) throw unreadable(`a head of ${HEAD_BODY} bytes`, body.length);
  if (body[0] !== VERSION) throw unreadable(`version ${VERSION}`, body[0]);
  const flags = body[1]!;
  if (flags > 7) throw unreadable('flags of at most 7', flags);
  const size = Number(view.getBigUint64(2, true));
  if (size > MOST_SIZE) throw unreadable(`a size of at most ${MOST_SIZE} bytes`, size);
  const list = Buffer.from(body.subarray(26, 58)).toString('hex');
  return {
    type: 'head',
    size: (flags & 1) === 0 ? null : size,
    isComplete: (flags & 2) !== 0,
    asksOrigin: (flags & 4) !== 0,
    node: Buffer.from(body.subarray(10, 26)).toString('hex'),
    list: list === NO_LIST ? null : list,
  };
}

function readBlocks(body: Uint8Array, blocks: number): BlockSet {
  if (blocks === 0) {
    if (body.length > 0) throw unreadable('no blocks before a size', `${body.length} bytes`);
    return new BlockSet(0);
  }
  try {
    return new BlockSet(blocks, decodeBits(body, blocks));
  } catch (error) {
    throw unreadable(`coded bits of ${blocks} blocks`, (error as Error).message, error);
  }
}

function risingBody(blocks: readonly number[]): Uint8Array {
  const bytes: number[] = [];
  let before = -1;
  for (const block of blocks) {
    let gap = block - before;
    before = block;
    for (; gap > 127; gap >>>= 7) bytes.push((gap & 127) | 128);
    bytes.push(gap);
  }
  return Uint8Array.from(bytes);
}

function readRising(body: Uint8Array, blocks: number): number[] {
  const list: number[] = [];
  let before = -1;
  for (let at = 0; at < body.length; ) {
    let gap = 0;
    let shift = 0;
    for (;;) {
      const byte = body[at++];
      if (byte === undefined || shift > 21) throw unreadable('a distance of at most 3 bytes', 'more');
      gap |= (byte & 127) << shift;
      if (byte < 128) break;
      shift += 7;
    }
    if (gap === 0) throw unreadable('rising numbers', 'the same again');
    before = checkBlock(before + gap, blocks);
    list.push(before);
  }
  return list;
}

function readHashes(body: Uint8Array, view: DataView, blocks: number): ToldHash[] {
  if (body.length % HASH_ENTRY !== 0)
    throw unreadable(`hashes of ${HASH_ENTRY} bytes`, `${body.length} bytes`);
  return Array.from({ length: body.length / HASH_ENTRY }, (_, i) => {
    const at = i * HASH_ENTRY;
    return {
      block: checkBlock(view.getUint32(at, true), blocks),
      isFirstHand: body[at + 4] === 1,
      hash: Uint8Array.from(body.subarray(at + 5, at + HASH_ENTRY)),
    };
  });
}

function checkBlock(block: number, blocks: number): number {
  if (block >= blocks) throw unreadable(`a block below ${blocks}`, block);
  return block;
}

function unreadable(expected: string, got: unknown, cause?: unknown): DeliveryError {
  return new DeliveryError('malformed', 'read a state message', `expected ${expected}, got ${got}`, {
    cause,
  });
}
