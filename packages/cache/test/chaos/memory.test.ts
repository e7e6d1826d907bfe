/**
 * The memory of a real process under distinct URLs, which no cache can bound by hits: the store
 * keeps to `--memory`, and the process to a small multiple of it (src/node/heap-growth.ts).
 */

import { existsSync, readFileSync } from 'node:fs';
import { Agent, createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundleNode, type NodeProgram, startChaosNode } from './chaos-node.ts';

const REQUESTS = 9000;
const CLIENTS = 16;
const STORE_BYTES = 32_000_000;
/** 6 KB of fields: heads are what is on the heap of JavaScript. */
const FIELDS = Object.fromEntries(
  Array.from({ length: 30 }, (_, i) => [`X-Field-${i}`, `${i}`.padEnd(200, 'x')]),
);

let program: NodeProgram;
const origin = createServer((_req, res) =>
  res.writeHead(200, { 'Cache-Control': 'max-age=600', ...FIELDS }).end('short'),
);
beforeAll(async () => {
  program = bundleNode();
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  origin.closeAllConnections();
  origin.close();
  program.remove();
});

function residentBytes(pid: number): number {
  return 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
}

test.skipIf(!existsSync('/proc/self/status'))(
  'a node that is asked for distinct URLs grows to a small multiple of its store, and no further',
  { timeout: 300_000 },
  async () => {
    const { port } = origin.address() as AddressInfo;
    const node = await startChaosNode(program, {
      upstream: [`/=http://127.0.0.1:${port}/`],
      memory: `${STORE_BYTES}`,
    });
    const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
    const ask = (number: number) =>
      new Promise<void>((resolve, reject) => {
        get({ port: node.port, host: '127.0.0.1', path: `/page?q=${number}`, agent }, (answer) =>
          answer.resume().on('end', resolve),
        ).on('error', reject);
      });
    try {
      const before = residentBytes(node.pid);
      let most = 0;
      let next = 0;
      await Promise.all(
        Array.from({ length: CLIENTS }, async () => {
          while (next < REQUESTS) {
            await ask(next++);
            if (next % 100 === 0) most = Math.max(most, residentBytes(node.pid));
          }
        }),
      );
      const { memory } = (await node.status()).stores;
      expect(memory!.evictions).toBeGreaterThan(0);
      expect(memory!.bytes).toBeLessThanOrEqual(STORE_BYTES);
      expect(most - before).toBeLessThan(5 * STORE_BYTES);
    } finally {
      agent.destroy();
      await node.kill();
    }
  },
);
