import { expect, test } from 'vitest';
import { answerMac, StreamSeal, sha256 } from './answer-mac.ts';
import { MESSAGE } from './frame.ts';

const key = Uint8Array.from({ length: 32 }, (_, i) => i);
const payload = new TextEncoder().encode('payload');

test('answerMac differs by nonce, status, body and key', () => {
  const macs = [
    answerMac(key, 'nonce', 200, payload),
    answerMac(key, 'other', 200, payload),
    answerMac(key, 'nonce', 206, payload),
    answerMac(key, 'nonce', 200, payload.slice(1)),
    answerMac(key.slice(1), 'nonce', 200, payload),
  ];
  expect(new Set(macs).size).toBe(5);
  expect(macs[0]).toMatchInlineSnapshot(`"mac=Nby5wCnKMFNNlE_FCiljG8qqNWYRER0OKU3L8wxX668"`);
});

test('StreamSeal accepts the frames of its stream in their order, and no other', () => {
  const frames = () => {
    const seal = new StreamSeal(key, 'nonce');
    return Array.from({ length: 3 }, () => {
      const mac = seal.next(MESSAGE, 1, sha256(payload));
      return { kind: MESSAGE, topic: 1, payload, mac };
    });
  };
  const [first, second] = frames();
  const reader = new StreamSeal(key, 'nonce');
  expect(frames().map((frame) => reader.isNext(frame))).toEqual([true, true, true]);
  expect(new StreamSeal(key, 'nonce').isNext(second)).toBe(false);
  expect(new StreamSeal(key, 'other').isNext(first)).toBe(false);
  expect(new StreamSeal(key.slice(1), 'nonce').isNext(first)).toBe(false);
  const changes = [{ kind: 2 }, { topic: 0 }, { payload: payload.slice(1) }, { mac: second.mac }];
  for (const change of changes)
    expect(new StreamSeal(key, 'nonce').isNext({ ...first, ...change })).toBe(false);
  expect(first.mac.toString('hex')).toMatchInlineSnapshot(`"d71451aa9ca42129447f672a931bf0f3"`);
});
