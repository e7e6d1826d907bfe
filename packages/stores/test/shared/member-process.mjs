// A member in a process of its own, to be killed. It adds keys PREFIX0, PREFIX1, … in small batches
// and prints the number of acknowledged keys after each. The settings come as JSON.

import { createSharedFilter } from '@bloomery/stores/shared';
import { Redis } from 'ioredis';

const { url, prefix, ...options } = JSON.parse(process.argv[2] ?? '{}');
const redis = new Redis(url, { lazyConnect: true });
const filter = await createSharedFilter({ redis, ...options });
for (let count = 0; ; ) {
  await filter.addMany(Array.from({ length: 10 }, () => `${prefix}${count++}`));
  process.stdout.write(`${count} ${filter.stats().snapshots}\n`);
}
