import { expect, test } from 'vitest';
import { WordSpool } from './word-spool.ts';

function filled(mostInMemory: number): WordSpool {
  const spool = new WordSpool({ mostInMemory });
  for (let part = 0; part < 30; part++)
    spool.add(Int32Array.from({ length: 1000 }, (_, i) => part * 1000 + i));
  return spool;
}

test.each([0, 40_000, 1 << 20])(
  'WordSpool with %i bytes of memory yields all words in order, twice',
  (limit) => {
    const spool = filled(limit);
    expect(spool.count).toBe(30_000);
    const expected = Array.from({ length: 30_000 }, (_, i) => i);
    for (let reading = 0; reading < 2; reading++) {
      expect([...spool.parts()].flatMap((part) => [...part])).toEqual(expected);
    }
    spool.close();
  },
);

test('WordSpool yields parts of 4 MiB from its file, so that two readers can alternate', () => {
  const spool = new WordSpool({ mostInMemory: 0 });
  spool.add(new Int32Array((1 << 20) + 7).map((_, i) => i));
  const [first, second] = [spool.parts(), spool.parts()];
  expect(first.next().value?.length).toBe(1 << 20);
  expect(second.next().value?.length).toBe(1 << 20);
  expect(first.next().value).toEqual(new Int32Array(7).map((_, i) => (1 << 20) + i));
  expect(first.next().done).toBe(true);
  spool.close();
});
