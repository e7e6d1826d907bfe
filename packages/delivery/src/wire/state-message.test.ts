import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { BlockSet } from '../decisions/block-set.ts';
import { DeliveryError } from '../delivery-error.ts';
import { HashList } from './hash-list.ts';
import { MessageSplitter } from './message-splitter.ts';
import { mostMessageBytes, readStateMessage, type StateMessage, writeStateMessage } from './state-message.ts';

const BLOCKS = 700;

function someMessages(): StateMessage[] {
  const has = new BlockSet(BLOCKS);
  for (let block = 0; block < BLOCKS; block += 3) has.add(block);
  const head = { type: 'head', isComplete: false, asksOrigin: true, node: 'ab'.repeat(16) } as const;
  return [
    { ...head, size: 45_000_000, list: null },
    { ...head, size: null, list: 'cd'.repeat(32), isComplete: true },
    { type: 'blocks', has },
    { type: 'blocks', has: BlockSet.full(BLOCKS) },
    { type: 'blocks', has: new BlockSet(BLOCKS) },
    { type: 'more', blocks: [0, 1, 5, 200, 699] },
    { type: 'hashes', hashes: [{ block: 3, isFirstHand: true, hash: new Uint8Array(32).fill(7) }] },
    { type: 'fetching', blocks: [4, 2] },
    { type: 'peers', addresses: ['http://10.0.0.2:4790', 'http://[::1]:4790'] },
  ];
}

/** Reads a stream of messages as a follower does, in pieces of a size. */
function readAll(bytes: Uint8Array, piece: number): StateMessage[] {
  const messages: StateMessage[] = [];
  const splitter = new MessageSplitter();
  for (let at = 0; at < bytes.length; at += piece)
    splitter.push(
      bytes.subarray(at, at + piece),
      () => BLOCKS,
      (message) => messages.push(readStateMessage(message, BLOCKS)),
    );
  return messages;
}

test.each([1, 7, 1000])('messages come through in pieces of %i bytes', (piece) => {
  const messages = someMessages();
  expect(readAll(Buffer.concat(messages.map(writeStateMessage)), piece)).toEqual(messages);
});

test('a set of blocks costs at most a bit per block, and little when it is nearly empty or full', () => {
  const bytesOf = (has: BlockSet) => writeStateMessage({ type: 'blocks', has }).length - 5;
  const half = new BlockSet(BLOCKS);
  for (let block = 0; block < BLOCKS; block++) if ((block * 7919) % 13 < 6) half.add(block);
  const few = new BlockSet(BLOCKS);
  for (const block of [3, 99, 612]) few.add(block);
  expect(bytesOf(half)).toBeLessThanOrEqual(1 + BLOCKS / 8 + 1);
  expect(bytesOf(few)).toBeLessThan(12);
  expect(bytesOf(BlockSet.full(BLOCKS))).toBe(1);
});

test('every prefix, flipped bit and random string is read as a message or refused with a typed error', () => {
  let refused = 0;
  const offer = (bytes: Uint8Array) => {
    try {
      const message = readStateMessage(bytes, BLOCKS);
      if (message.type === 'blocks') expect(message.has.blocks).toBe(BLOCKS);
      if (message.type === 'more' || message.type === 'fetching')
        expect(message.blocks.every((block) => block < BLOCKS)).toBe(true);
    } catch (error) {
      expect(error).toBeInstanceOf(DeliveryError);
      refused++;
    }
  };
  for (const message of someMessages()) {
    const bytes = writeStateMessage(message).subarray(4);
    for (let end = 0; end < bytes.length; end++) offer(bytes.subarray(0, end));
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const flipped = bytes.slice();
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      offer(flipped);
    }
  }
  for (let i = 0; i < 2000; i++) offer(randomBytes(1 + (i % 100)));
  expect(refused).toBeGreaterThan(1000);
});

test('a length beyond what the file allows is refused before the message comes', () => {
  const claim = (type: number, length: number) => {
    const bytes = new Uint8Array(5);
    new DataView(bytes.buffer).setUint32(0, length, true);
    bytes[4] = type;
    return () => readAll(bytes, 5);
  };
  for (let type = 1; type <= 6; type++) {
    const most = mostMessageBytes(type, BLOCKS);
    expect(claim(type, most)()).toEqual([]);
    expect(claim(type, most + 1)).toThrow(expect.objectContaining({ code: 'limit' }));
  }
  expect(claim(1, 0)).toThrow(DeliveryError);
  expect(claim(9, 2 ** 32 - 1)).toThrow(DeliveryError);
});

test('HashList comes back from its bytes, and its prefixes and flipped sizes are refused', () => {
  const list = HashList.of(200_000, randomBytes(4 * 32));
  expect(HashList.decode(list.bytes)).toEqual(list);
  for (let end = 0; end < list.bytes.length; end++)
    expect(() => HashList.decode(list.bytes.subarray(0, end))).toThrow(DeliveryError);
  for (let bit = 0; bit < 8 * 16; bit++) {
    const flipped = list.bytes.slice();
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    // A size that differs by less than a block has as many hashes, and another name.
    try {
      expect(HashList.decode(flipped).name).not.toBe(list.name);
    } catch (error) {
      expect(error).toBeInstanceOf(DeliveryError);
    }
  }
});
