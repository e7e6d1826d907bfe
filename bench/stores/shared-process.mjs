// One process of bench/stores/shared.mjs: opens the shared filter, and then does what its parent
// asks.

import { createRequire } from 'node:module';
import { createSharedFilter } from '../../packages/stores/dist/shared/index.js';
import { StagedFilter } from '../../packages/stores/dist/shared/staged-filter.js';

const require = createRequire(new URL('../../packages/stores/package.json', import.meta.url));
const { Redis } = require('ioredis');

const { port, name, capacity, rate, isLight = true } = JSON.parse(process.argv[2] ?? '{}');
// A client with a connector of its own is one whose way to the server only it knows, so that the
// log is read through a copy of it.
const Connector = require('ioredis/built/connectors/StandaloneConnector.js').default;
const redis = new Redis(port, '127.0.0.1', { lazyConnect: true, ...(isLight ? {} : { Connector }) });
const timing = { settleMs: 500 };
const filter = await createSharedFilter({ redis, name, capacity, falsePositiveRate: rate, timing });

const now = () => performance.timeOrigin + performance.now();

/** @param {() => unknown} work */
async function cpuSeconds(work) {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

function ownSeconds() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** @type {Record<string, (order: any) => Promise<object>>} */
const ORDERS = {
  /** Asks for keys, half of which were added. */
  async check({ count }) {
    // Before the long work: a process that is busy for `maxAgeMs` hears nothing of the log.
    const state = filter.state;
    const keys = Array.from({ length: count }, (_, i) => (i % 2 === 0 ? `key${i}` : `other${i}`));
    filter.hasMany(keys);
    const seconds = await cpuSeconds(() => filter.hasMany(keys));
    return { state, perSecond: count / seconds };
  },
  async fill({ count, chunk }) {
    const begin = now();
    let id = '';
    const waiting = /** @type {Promise<string>[]} */ ([]);
    const seconds = await cpuSeconds(async () => {
      for (let from = 0; from < count; from += chunk) {
        const lines = Buffer.from(Array.from({ length: chunk }, (_, i) => `key${from + i}`).join('\n'));
        waiting.push(filter.addMany({ lines }));
        // Two chunks are under way.
        if (waiting.length > 1) id = await /** @type {Promise<string>} */ (waiting.shift());
      }
      for (const one of waiting) id = await one;
    });
    return { id, begin, seconds };
  },
  async waitFor({ id }) {
    await filter.waitFor(id);
    return { end: now(), seconds: ownSeconds() };
  },
  async cpu() {
    return { seconds: ownSeconds(), entries: filter.stats().entries };
  },
  /** Adds keys at a steady rate, and tells when each was added. */
  async pace({ prefix, count, perSecond }) {
    const begin = now();
    const times = [];
    for (let i = 0; i < count; i++) {
      const due = begin + (1000 * i) / perSecond;
      while (now() < due) await new Promise((resolve) => setTimeout(resolve, 1));
      times.push(now());
      void filter.add(`${prefix}${i}`);
    }
    return { times };
  },
  /**
   * Asks for the next paced keys whenever hashes have gone into the filter, and tells when each was
   * seen. It does not ask by a timer: a timer every millisecond costs as much CPU as reading the
   * log does, and four such readers would take a quarter of the machine that they measure.
   */
  async watch({ count }) {
    const times = /** @type {number[]} */ ([]);
    const add = StagedFilter.prototype.addWords;
    await new Promise((resolve) => {
      StagedFilter.prototype.addWords = function (words) {
        const fresh = add.call(this, words);
        while (times.length < count && filter.has(`paced${times.length}`)) times.push(now());
        if (times.length === count) resolve(null);
        return fresh;
      };
    });
    StagedFilter.prototype.addWords = add;
    return { times };
  },
};

await filter.ready();
process.on('message', async (/** @type {any} */ order) => {
  if (order.work === 'end') {
    await filter.close();
    process.exit();
  }
  const work = ORDERS[order.work];
  process.send?.({ number: order.number, ...(await work?.(order)) });
});
process.send?.({ number: 0 });
