import { expect, test } from 'vitest';
import { refusalsOf } from './planted-source.mjs';
import { sealedCode } from './sealed-code.mjs';

const ROOM = 'packages/cache/src/simulation/a.ts';
const refusal = (/** @type {string} */ what) =>
  `2: Cannot run code in a simulation: expected time and randomness from a Clock, got ${what}`;

test('real timers, clocks and randomness are refused in a simulation room', () => {
  for (const [text, what] of [
    ['setTimeout(f, 1);', 'setTimeout'],
    ['globalThis.setInterval(f, 1);', 'setInterval'],
    ['const later = setImmediate;', 'setImmediate'],
    ['const now = Date.now();', 'Date.now'],
    ['const now = globalThis.Date.now();', 'Date.now'],
    ['const now = new Date();', 'the time by Date'],
    ['const now = Date();', 'the time by Date'],
    ['const now = performance.now();', 'performance.now'],
    ['const x = Math.random();', 'Math.random'],
    ["const x = Math['random']();", 'Math.random'],
    ['const id = crypto.randomUUID();', 'crypto.randomUUID'],
    ['const t = process.hrtime.bigint();', 'process.hrtime'],
    ["import { randomBytes } from 'node:crypto';", 'an import of randomBytes'],
    ["import { setTimeout as sleep } from 'node:timers/promises';", 'an import of node:timers/promises'],
    ['const host = { clock: systemClock };', 'systemClock'],
  ])
    expect(refusalsOf(sealedCode, `\n${text}`, ROOM)[0], text).toBe(refusal(what));
});

test('the same is refused in decisions, in policy and in the engine', () => {
  for (const path of [
    'packages/cache/src/peers/decisions/a.ts',
    'packages/cache/src/policy/a.ts',
    'packages/sim/src/engine/a.ts',
    'packages/overlay/src/simulation/deep/a.ts',
  ])
    expect(refusalsOf(sealedCode, '\nMath.random();', path), path).toEqual([refusal('Math.random')]);
});

test('other code, tests, and functions of their arguments pass', () => {
  expect(refusalsOf(sealedCode, 'Math.random();', 'packages/cache/src/node/a.ts')).toEqual([]);
  expect(refusalsOf(sealedCode, 'Math.random();', 'packages/sim/src/engine/a.test.ts')).toEqual([]);
  const text =
    "import { createHash } from 'node:crypto';\nnew Date(5); Date.UTC(1970, 0); Date.parse(text); clock.now(); port.setTimeout(f); const table = { setTimeout: 1 };";
  expect(refusalsOf(sealedCode, text, ROOM)).toEqual([]);
});
