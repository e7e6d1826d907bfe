import { expect, test } from 'vitest';
import { refusalsOf } from './planted-source.mjs';
import { realTimers } from './real-timers.mjs';

const TEST = 'packages/cache/test/proxy/a.test.ts';
const refusal = (/** @type {string} */ name) =>
  `Cannot accept a wait in a test: expected it to wait for an event, got ${name}`;

test('pauses of every form are refused in tests', () => {
  for (const [text, name] of [
    ['await new Promise((resolve) => setTimeout(resolve, 20));', 'setTimeout'],
    ['globalThis.setTimeout(f, 20);', 'setTimeout'],
    ['setInterval(f, 20);', 'setInterval'],
    ['Atomics.wait(new Int32Array(shared), 0, 0, 900);', 'Atomics.wait'],
  ])
    expect(refusalsOf(realTimers, `\n${text}`, TEST)).toEqual([`2: ${refusal(name)}`]);
});

test('node:timers/promises is refused under any name, once for each call', () => {
  const text =
    "import { setTimeout as sleep } from 'node:timers/promises';\nawait sleep(1);\nawait sleep(2);";
  expect(refusalsOf(realTimers, text, TEST)).toEqual([`2: ${refusal('sleep')}`, `3: ${refusal('sleep')}`]);
});

test('the product may set timers, and a test may wait for an event', () => {
  expect(refusalsOf(realTimers, 'setTimeout(f, 1);', 'packages/cache/src/a.ts')).toEqual([]);
  expect(refusalsOf(realTimers, "await once(server, 'listening'); vi.advanceTimersByTime(5);", TEST)).toEqual(
    [],
  );
});

test('code that only tests use counts as a test', () => {
  for (const path of ['packages/testkit/src/a.ts', 'apps/cli/test/a.ts', 'tools/a.test.mjs'])
    expect(refusalsOf(realTimers, 'setTimeout(f, 1);', path)).toHaveLength(1);
});

test('a timer that is cleared is a deadline, one that is only kept is not', () => {
  const kept = 'const timer = setTimeout(() => child.kill(), 10_000);\nawait gone;\n';
  expect(refusalsOf(realTimers, `${kept}clearTimeout(timer);`, TEST)).toEqual([]);
  expect(refusalsOf(realTimers, kept, TEST)).toHaveLength(1);
});
