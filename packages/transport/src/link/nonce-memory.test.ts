import { expect, test } from 'vitest';
import { NonceMemory } from './nonce-memory.ts';

const WINDOW = 30_000;

test('NonceMemory takes a nonce once', () => {
  const memory = new NonceMemory(10);
  expect(memory.take('a', 50_000, 20_000)).toBe(true);
  expect(memory.take('a', 50_000, 20_000)).toBe(false);
  expect(memory.take('b', 50_000, 20_000)).toBe(true);
});

test('NonceMemory forgets what has left the window', () => {
  const memory = new NonceMemory(10);
  memory.take('a', 50_000, 20_000);
  memory.take('b', 51_000, 50_999);
  expect(memory.size).toBe(2);
  memory.take('c', 60_000, 51_000);
  expect(memory.size).toBe(2);
});

test('NonceMemory beyond its bound refuses everything as old as what it forgot', () => {
  const memory = new NonceMemory(1000);
  const accepted: [nonce: string, time: number][] = [];
  // 100 requests a second, from two senders whose clocks are 20 s apart.
  for (let time = 100_000; time < 150_000; time += 20)
    for (const [sender, skew] of [
      ['slow', 0],
      ['fast', 20_000],
    ] as const) {
      const nonce = `${sender}${time}`;
      if (memory.take(nonce, time + skew, time - WINDOW)) accepted.push([nonce, time + skew]);
      expect(memory.size).toBeLessThanOrEqual(1000);
    }
  // No accepted request is accepted a second time, at any moment after it.
  for (const [nonce, time] of accepted) expect(memory.take(nonce, time, 120_000)).toBe(false);
  // The newest requests are still accepted.
  expect(memory.take('new', 170_500, 120_000)).toBe(true);
});
