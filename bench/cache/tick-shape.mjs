/**
 * The time of a tick (`process.nextTick`) before and after a full garbage collection, with and
 * without a living tick object (packages/cache/src/node/kept-tick.ts). Each figure is a process of
 * its own: `node bench/cache/tick-shape.mjs`.
 */

import { executionAsyncResource } from 'node:async_hooks';
import { spawnSync } from 'node:child_process';
import { setImmediate as turn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const TICKS = 100_000;
const ROUNDS = 5;
const [, , mode] = process.argv;

if (mode === undefined) {
  for (const each of ['no collection', 'collected', 'collected, one kept']) {
    spawnSync(process.execPath, ['--expose-gc', fileURLToPath(import.meta.url), each], { stdio: 'inherit' });
  }
} else {
  let kept = null;
  for (let i = 0; i < 20; i++) {
    process.nextTick(() => {
      if (mode.endsWith('kept')) kept = executionAsyncResource();
    });
    await turn();
  }
  if (mode !== 'no collection') for (let i = 0; i < 8; i++) await turn(globalThis.gc?.());
  const times = [];
  for (let round = 0; round < ROUNDS; round++) times.push(await nsPerTick());
  console.log(
    `${mode}: ${Math.min(...times).toFixed(0)} ns per tick${kept === null ? '' : ', one object kept'}`,
  );
}

async function nsPerTick() {
  const before = process.cpuUsage();
  await /** @type {Promise<void>} */ (
    new Promise((resolve) => {
      let left = TICKS;
      const tick = () => (--left > 0 ? process.nextTick(tick) : resolve());
      process.nextTick(tick);
    })
  );
  const { user, system } = process.cpuUsage(before);
  return (1000 * (user + system)) / TICKS;
}
