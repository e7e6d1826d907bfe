import { expect, test } from 'vitest';
import { decodeAsk, decodeRepeated, encodeAsk, encodeRepeated } from './repair-message.ts';

const ask = { life: 'AAECAwQFBgcI', topic: 'summary', numbers: [3, 4, 34] };

test('decodeAsk() reads what encodeAsk() wrote', () => {
  expect(decodeAsk(encodeAsk(ask))).toEqual(ask);
});

test('decodeAsk() refuses everything else', () => {
  const many = Array.from({ length: 33 }, (_, i) => i + 1);
  const lists = [[], [0], [1.5], [3, 3], [4, 3], ['1'], many].map((numbers) => ({ ...ask, numbers }));
  const wrong = [...lists, { ...ask, topic: 'No' }] as (typeof ask)[];
  for (const each of wrong) expect(decodeAsk(encodeAsk(each))).toBe(null);
  const { life: _, ...without } = ask;
  expect(decodeAsk(Buffer.from(JSON.stringify(without)))).toBe(null);
  for (const text of ['', 'null', '[]', '{', `"${'x'.repeat(2000)}"`])
    expect(decodeAsk(Buffer.from(text))).toBe(null);
});

test('decodeRepeated() takes one byte for yes, and everything else for no', () => {
  expect(decodeRepeated(encodeRepeated(true))).toBe(true);
  expect(decodeRepeated(encodeRepeated(false))).toBe(false);
  expect(decodeRepeated(Uint8Array.of())).toBe(false);
  expect(decodeRepeated(Uint8Array.of(1, 1))).toBe(false);
});
