/** Whole fetches among honest nodes. */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fetchFrom } from '../../src/index.ts';
import { addressOf, SwarmLab } from './swarm-lab.ts';

test.each([0, 1, 65_536, 65_537, 3_000_000])('a file of %i bytes comes from one seed', async (size) => {
  await using lab = new SwarmLab(size);
  const { report } = await lab.fetch([await lab.seed()]);
  expect(report).toMatchObject({ phase: 'done', size, peerBytes: size, originBytes: 0, wastedBytes: 0 });
  expect(readdirSync(lab.folder).sort()).toEqual(['copy-1', 'seed-0']);
});

test('a node without peers takes the file from the origin', async () => {
  await using lab = new SwarmLab(3_000_000);
  const { report } = await lab.fetch([], { origin: await lab.startOrigin() });
  expect(report).toMatchObject({ peerBytes: 0, originBytes: 3_000_000 });
  expect(lab.originCopies).toBeLessThan(1.001);
});

test('a complete server is an origin, for this protocol and for any client of HTTP', async () => {
  await using lab = new SwarmLab(1_000_000);
  const url = `${await lab.seed()}/delivery/1/${lab.digest}/file`;
  await lab.fetch([], { origin: url });
  expect(Buffer.from(await (await fetch(url)).arrayBuffer()).equals(lab.body)).toBe(true);
});

test('nodes that begin together take about one copy from the origin', async () => {
  await using lab = new SwarmLab(12_000_000);
  const origin = await lab.startOrigin(6_000_000);
  const servers = await Promise.all(Array.from({ length: 6 }, () => lab.server()));
  const all = servers.map(addressOf);
  const reports = await Promise.all(
    servers.map((server) => lab.fetch(all, { origin, server, lingerMs: 20_000 })),
  );
  expect(lab.originCopies).toBeLessThan(1.2);
  const wasted = reports.reduce((sum, { report }) => sum + report.wastedBytes, 0);
  expect(wasted / (6 * lab.body.length)).toBeLessThan(0.03);
});

test('a file that is there already is not fetched, and another file is not replaced', async () => {
  await using lab = new SwarmLab(200_000);
  const { path } = await lab.fetch([await lab.seed()]);
  expect((await lab.fetch([], { path })).report.resumedBytes).toBe(200_000);
  writeFileSync(path, 'mine');
  await expect(fetchFrom([], lab.digest, { path })).rejects.toMatchObject({ code: 'exists' });
  expect(readFileSync(path, 'utf8')).toBe('mine');
});

test('a fetch that was aborted goes on from its blocks', async () => {
  await using lab = new SwarmLab(6_000_000);
  const seed = await lab.seed(lab.body, { bytesPerSecond: 6_000_000 });
  const stop = new AbortController();
  const path = join(lab.folder, 'stopped');
  await expect(
    lab.fetch([seed], {
      path,
      signal: stop.signal,
      started: (report) => {
        const timer = setInterval(() => {
          if (report().hasBlocks < 20) return;
          clearInterval(timer);
          stop.abort();
        }, 5);
      },
    }),
  ).rejects.toThrow('aborted');
  const { report } = await lab.fetch([seed], { path });
  expect(report.resumedBytes).toBeGreaterThanOrEqual(20 * 65_536);
  expect(report.resumedBytes + report.peerBytes).toBe(6_000_000);
});

test('nodes that know only the seed learn of each other', async () => {
  await using lab = new SwarmLab(4_000_000);
  const seed = await lab.seed(lab.body, { bytesPerSecond: 4_000_000 });
  const servers = await Promise.all(Array.from({ length: 4 }, () => lab.server()));
  const results = await Promise.all(servers.map((server) => lab.fetch([seed], { server, lingerMs: 10_000 })));
  const others = results.flatMap(({ report }) => report.peers.filter(({ address }) => address !== seed));
  expect(others.reduce((sum, { bytes }) => sum + bytes, 0)).toBeGreaterThan(2_000_000);
});

test('a fetch with a low limit of bytes asks for no more blocks than come in time', async () => {
  await using lab = new SwarmLab(8 * 65_536);
  const peers = await Promise.all(Array.from({ length: 4 }, () => lab.seed()));
  // One block takes 0.7 s, and all eight at once would take 5 s.
  const limits = { bytesPerSecond: 100_000, blockMs: 3000 };
  const { report } = await lab.fetch(peers, { limits });
  expect(report.wastedBytes).toBe(0);
});
