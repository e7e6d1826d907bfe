import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { bodyBytes, expectBytes } from '../../test/store/stored-responses.ts';
import { ChunkList, compact } from './chunk-list.ts';

/** Reads the bytes from `at` to `end`, view by view, with the hints of a reader. */
function readViews(list: ChunkList, at: number, end: number): Uint8Array {
  const views: Uint8Array[] = [];
  let hint = 0;
  while (at < end) {
    const view = list.view(at, end, hint);
    if (view === undefined) break;
    hint = list.indexOf(at, hint);
    views.push(view);
    at += view.length;
  }
  return Buffer.concat(views);
}

test('random chunks, drops and views give the bytes that were added', () => {
  const random = new Random(14);
  for (let round = 0; round < 30; round++) {
    const body = bodyBytes(20_000, round);
    const list = new ChunkList();
    const most = random.pick([3, 100, 5000]);
    let start = 0;
    while (list.end < body.length) {
      const end = Math.min(body.length, list.end + 1 + random.below(most));
      list.push(body.subarray(list.end, end));
      if (random.below(20) === 0) {
        const count = random.below(list.end - list.start + 1);
        expectBytes(Buffer.concat(list.first(count)), body.subarray(start, start + count), 'first');
        list.drop(count);
        start += count;
      }
      if (random.below(most < 10 ? 100 : 4) > 0) continue;
      expect([list.start, list.end]).toEqual([start, end]);
      const at = start + random.below(list.end - start + 1);
      const to = at + random.below(list.end - at + 10);
      expectBytes(readViews(list, at, to), body.subarray(at, Math.min(to, list.end)), 'views');
      expect(list.view(start - 1, end, 0)).toBeUndefined();
      expect(list.view(end, end + 5, 0)).toBeUndefined();
    }
    expectBytes(list.flatten(), body.subarray(start), 'flat');
    expectBytes(readViews(list, start, body.length), body.subarray(start), 'views of the flat');
  }
});

test('a reader whose chunk was dropped before others goes on at its position', () => {
  const list = new ChunkList();
  const body = bodyBytes(100, 1);
  for (let at = 0; at < 100; at += 10) list.push(body.subarray(at, at + 10));
  list.drop(45);
  expectBytes(list.view(60, 100, 6)!, body.subarray(60, 70));
  expectBytes(list.view(45, 100, 4)!, body.subarray(45, 50));
});

test('dropBefore drops whole chunks, and only as far as the window requires', () => {
  const list = new ChunkList();
  for (let i = 0; i < 10; i++) list.push(new Uint8Array(10));
  list.dropBefore(100, 100);
  expect(list.start).toBe(0);
  list.dropBefore(25, 0);
  expect(list.start).toBe(20);
  list.dropBefore(100, 45);
  expect(list.start).toBe(60);
  list.dropBefore(100, 0);
  expect([list.start, list.end]).toEqual([100, 100]);
});

test('tiny chunks are joined, large ones are not copied', () => {
  const tiny = new ChunkList();
  for (let i = 0; i < 10_000; i++) tiny.push(Uint8Array.of(i));
  expect(tiny.chunks.length).toBeLessThan(300);
  expectBytes(
    Buffer.concat(tiny.chunks),
    Uint8Array.from({ length: 10_000 }, (_, i) => i),
  );
  const large = new ChunkList();
  const chunk = new Uint8Array(4096);
  for (let i = 0; i < 1000; i++) large.push(chunk);
  expect(large.chunks.every((one) => one === chunk)).toBe(true);
});

test('compact copies a small view of a large buffer, and nothing else', () => {
  const whole = new Uint8Array(1000);
  expect(compact(whole)).toBe(whole);
  const most = whole.subarray(0, 750);
  expect(compact(most)).toBe(most);
  expect(compact(whole.subarray(0, 749)).buffer.byteLength).toBe(749);
});
