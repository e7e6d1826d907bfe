/**
 * Large bodies from the disk are sent in pieces whose memory is used again. Clients of all paces,
 * some of which leave in the middle, read several bodies at a time; each byte says where it
 * belongs, so a piece that was overwritten before it was sent is seen.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { afterEach, describe, expect, it } from 'vitest';
import { DiskStore } from '../../src/store/disk/disk-store.ts';
import { MemoryStore } from '../../src/store/memory/memory-store.ts';
import type { ResponseStore } from '../../src/store/response-store.ts';
import { TieredStore } from '../../src/store/tiered/tiered-store.ts';
import { type ProxyLab, startProxy } from './proxy-lab.ts';

const BYTES = 7 * 1024 * 1024 + 12_345;
const ALL = { admit: () => true, statistics: { admitted: 0, refused: 0, bytes: 0 } };
const BODIES = [0, 1, 2].map((number) => {
  const words = new Uint32Array(Math.ceil(BYTES / 4));
  for (let i = 0; i < words.length; i++) words[i] = Math.imul(i * 4 + number + 1, 0x9e3779b1);
  return Buffer.from(words.buffer, 0, BYTES);
});

let folder = '';
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function openStore(kind: string): Promise<ResponseStore> {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-pieces-'));
  const disk = await DiskStore.open({ folder, capacityBytes: 200_000_000 });
  if (kind === 'disk') return disk;
  // Two of the three bodies have room in memory, so that bodies come there from the disk and are
  // evicted again all the time.
  const memory = new MemoryStore({ capacityBytes: 18_000_000, maxBodyBytes: 8_000_000 });
  return TieredStore.open(memory, disk, { admission: ALL });
}

/** Reads a body at its own pace. Gives where the first wrong byte is, or -1. */
function firstWrong(lab: ProxyLab, target: string, body: Buffer, client: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const leavesAt = client % 4 === 3 ? BYTES * ((client % 7) / 7) : Number.POSITIVE_INFINITY;
    const pauseMs = client % 3;
    const req = request({ host: '127.0.0.1', port: lab.port, path: target, agent: false }, (res) => {
      let at = 0;
      res.on('data', (chunk: Buffer) => {
        if (chunk.compare(body, at, at + chunk.length) !== 0) {
          resolve(at);
          res.destroy();
        }
        at += chunk.length;
        if (at >= leavesAt) {
          resolve(-1);
          res.destroy();
        } else if (pauseMs > 0) {
          res.pause();
          setTimeout(() => res.resume(), pauseMs);
        }
      });
      res.on('end', () => resolve(at === BYTES ? -1 : at));
      res.on('error', reject);
    });
    req.on('error', reject);
    req.end();
  });
}

describe.each(['disk', 'tiers'])('large bodies from %s', (kind) => {
  it('are right for each of many clients of all paces', { timeout: 60_000 }, async () => {
    await using origin = await startOrigin();
    for (const [number, body] of BODIES.entries()) {
      origin.on(`/${number}`, { headers: ['Cache-Control', 'max-age=3600'], body });
    }
    await using lab = await startProxy({ store: await openStore(kind) });
    const targets = BODIES.map((_, number) => `${origin.origin}/${number}`);
    for (const target of targets) expect((await lab.get(target)).body.length).toBe(BYTES);
    for (let wave = 0; wave < 3; wave++) {
      const wrong = await Promise.all(
        Array.from({ length: 12 }, (_, client) => {
          const number = (client + wave) % BODIES.length;
          return firstWrong(lab, targets[number]!, BODIES[number]!, client);
        }),
      );
      expect(wrong).toEqual(wrong.map(() => -1));
    }
    expect(origin.requests.length).toBe(BODIES.length);
  });
});
