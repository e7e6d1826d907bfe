/**
 * Peers that want to cost time, not to give wrong answers: ids that all fall into one slot of a
 * table, keys of ours that were chosen for a salt that the peer knows beforehand, and endless
 * requests. Each test compares processor time, or counts, with what honest input of the same size
 * takes.
 */

import { cpuMs } from '@bloomery/testkit/cpu-time';
import { Random } from '@bloomery/testkit/statistics';
import { hashKeys } from 'bloomery';
import { expect, test } from 'vitest';
import { Reconciler } from '../../src/index.ts';
import { AMBIGUOUS, findIds, NOT_FOUND } from '../../src/sets/find-ids.ts';
import { hashedKeys } from '../../src/sets/hashed-keys.ts';
import { keySource } from '../../src/sets/key-source.ts';
import { sessionScheme } from '../../src/sets/session-salt.ts';
import { ByteWriter } from '../../src/wire/byte-writer.ts';
import { encodeMessage } from '../../src/wire/message.ts';
import { encodeSortedList } from '../../src/wire/sorted-list.ts';
import { reconcileInLab } from '../session-lab.ts';

const KNOWN = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
const keys = Array.from({ length: 20_000 }, (_, i) => i);

function responderOf(list: readonly number[]): Reconciler {
  return new Reconciler(list, { role: 'responder', random: new Uint8Array(8) });
}

function helloOf(list: readonly number[]): Uint8Array {
  return new Reconciler(list, { role: 'initiator', random: KNOWN }).pull() as Uint8Array;
}

test('findIds takes time in proportion to its input, whatever ids the peer chooses', async () => {
  const random = new Random(1);
  const words = Int32Array.from({ length: 40_000 }, () => random.bits());
  const count = 150_000;
  const chosen: Record<string, (k: number) => [high: number, low: number]> = {
    'one id again and again': () => [7, 7],
    'one slot': (k) => [7, k],
    // Products with the multiplier of a common hash of words.
    'one slot of a hash': (k) => [Math.imul(k, 0x85ebca6b), k],
    'ids side by side': (k) => [k << 8, k],
  };
  for (const [name, idOf] of Object.entries(chosen)) {
    const ids = Int32Array.from({ length: 2 * count }, (_, i) => idOf(i >> 1)[i & 1]);
    const ms = await cpuMs(() => findIds(words, ids, 64));
    expect(ms, name).toBeLessThan(1000);
  }
});

test('findIds calls ids ambiguous that are too many for one slot, and finds all others', () => {
  const random = new Random(2);
  const words = Int32Array.from({ length: 4000 }, () => random.bits());
  const ids = Int32Array.from(words, (_, i) => words[i ^ 1]);
  expect([...findIds(words, ids, 64)]).toEqual(Array.from({ length: 2000 }, (_, k) => k));
  const crowd = Int32Array.from({ length: 400 }, (_, i) => (i & 1 ? i : 5));
  const found = findIds(words, Int32Array.of(...crowd, ...ids), 64);
  expect(found.subarray(0, 63).every((k) => k === NOT_FOUND)).toBe(true);
  expect(found.subarray(100, 200).every((k) => k === AMBIGUOUS)).toBe(true);
  const lost = found.subarray(200).filter((k, i) => k !== i);
  expect(lost.length).toBeLessThan(10);
});

test('a list of equal hashes costs an initiator an attempt and no minutes', async () => {
  const initiator = new Reconciler(keys, { role: 'initiator', random: KNOWN });
  initiator.pull();
  const count = 100_000;
  const list = encodeSortedList(new Float64Array(count), 52);
  // Flag 8: a list. The number of keys counts from the initiator's.
  const body = new ByteWriter().byte(8).varint(2 * (count - keys.length));
  const summary = encodeMessage(2, body.bytes(list).finish());
  expect(await cpuMs(() => initiator.receive(summary))).toBeLessThan(1000);
  expect(initiator.pull()).toEqual(Uint8Array.of(9, 0));
});

test('keys whose hashes all begin alike under a known salt are told apart in linear time', async () => {
  const scheme = sessionScheme(KNOWN, null, 0);
  const crafted: number[] = [];
  for (let start = 1e9; crafted.length < 40_000; start += 65_536) {
    const tried = Array.from({ length: 65_536 }, (_, i) => start + i);
    const { words } = hashKeys(tried, scheme);
    for (let i = 0; i < tried.length; i++) if (words[2 * i + 1] >>> 26 === 0) crafted.push(tried[i]);
  }
  const twice = [...crafted, crafted[5], crafted[7]];
  let size = 0;
  const ms = await cpuMs(() => {
    size = hashedKeys(keySource(twice), scheme).size;
  });
  expect(ms).toBeLessThan(1000);
  expect(size).toBe(crafted.length);
  const { a, b } = reconcileInLab(twice, crafted.slice(3), new Random(3));
  expect([a.onlyHere, b.onlyThereCount]).toEqual([crafted.slice(0, 3), 3]);
});

test('a responder answers 255 requests for symbols in an attempt and refuses the next one', () => {
  const responder = responderOf(keys);
  responder.receive(helloOf(keys.map((key) => key + 3000)));
  const drain = () => {
    for (let bytes = responder.pull(); bytes !== null; bytes = responder.pull());
  };
  drain();
  const more = (end: number) => encodeMessage(3, new ByteWriter().varint(end).finish());
  for (let i = 1; i <= 255; i++) {
    responder.receive(more(4096 + i));
    drain();
  }
  expect(() => responder.receive(more(5000))).toThrow('expected at most 255 requests, got 256');
});

test('the second attempt takes wider cells, because the third one is a list of all keys', () => {
  const responder = responderOf(keys);
  // The flags come after a type and a length of one or two bytes.
  const widthOf = (summary: Uint8Array | null) =>
    5 + ((summary as Uint8Array)[(summary as Uint8Array)[1] < 128 ? 2 : 3] >> 5);
  responder.receive(helloOf(keys.map((key) => key + 20)));
  const first = widthOf(responder.pull());
  expect(first).toBe(6);
  responder.receive(Uint8Array.of(9, 0));
  expect(widthOf(responder.pull())).toBe(first + 2);
});
