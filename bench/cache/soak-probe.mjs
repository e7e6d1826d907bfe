// Loaded into the node before its own program (`node --expose-gc --import`): tells over the channel
// to its parent, when asked, what is in use after a garbage collection. From outside only RSS could
// be seen, which goes up and down with the allocator's moods.

import { monitorEventLoopDelay } from 'node:perf_hooks';

const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();
const gc = globalThis.gc;
if (process.send === undefined || gc === undefined)
  throw new Error('expected --expose-gc and a channel to a parent');

process.on('message', (message) => {
  if (message !== 'sample') return;
  // Before the collection, which would be the longest delay of all.
  const loop = { p50: delay.percentile(50) / 1e6, p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 };
  gc();
  // Buffers are freed by finalisers of the first; the second sees their objects gone.
  gc();
  const { heapUsed, external, rss } = process.memoryUsage();
  /** @type {Record<string, number>} */
  const resources = {};
  for (const name of process.getActiveResourcesInfo()) resources[name] = (resources[name] ?? 0) + 1;
  delay.reset();
  process.send?.({ heapUsed, external, rss, loop, resources });
});
// The node ends when it has nothing more to do, channel or not.
process.channel?.unref();
