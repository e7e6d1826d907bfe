/** The name that a node without `--name` gives itself, and loops that it finds by that name. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/node/config/node-config.ts';
import { keptName } from '../../src/node/node-name.ts';
import { ask, scratchFolder, startOrigin, startTestNode } from './scratch.ts';

const folder = scratchFolder();

test('two nodes with default settings in a chain do not take each other for a loop', async () => {
  const origin = await startOrigin();
  const near = await startTestNode({ upstream: [origin.url] });
  const far = await startTestNode({ upstream: [`http://127.0.0.1:${near.port}/`] });
  const answer = await ask(far.port, '/a');
  expect([answer.status, answer.body]).toEqual([200, '/a 1']);
  expect(far.name).toMatch(/^bloomery-[0-9a-f]{8}$/);
  expect(near.name).not.toBe(far.name);
  expect(answer.headers.via).toContain(near.name);
  expect(answer.headers['cache-status']).toContain(`${far.name}; `);
});

test('a loop is still found, by the chosen name and by a configured one', async () => {
  const origin = await startOrigin();
  const node = await startTestNode({ upstream: [origin.url] });
  const via = (name: string) => ask(node.port, '/a', { headers: { Via: `1.1 ${name}` } });
  expect((await via(node.name)).status).toBe(508);
  const chosen = node.name;
  node.reload(loadConfig({ flags: { upstream: [origin.url], disk: false, name: 'edge-1' } }));
  expect([node.name, (await via('edge-1')).status]).toEqual(['edge-1', 508]);
  node.reload(loadConfig({ flags: { upstream: [origin.url], disk: false } }));
  expect([node.name, (await via(chosen)).status]).toEqual([chosen, 508]);
});

test('a node with a disk has the same name after a restart, and one that it is given', async () => {
  const disk = join(folder, 'kept');
  const first = await startTestNode({ disk });
  await first.close(0);
  const second = await startTestNode({ disk });
  expect(second.name).toBe(first.name);
  await second.close(0);
  expect((await startTestNode({ disk, name: 'edge-1' })).name).toBe('edge-1');
});

test('keptName gives a name that cannot be kept all the same', () => {
  const place = join(folder, 'blocked');
  mkdirSync(join(place, 'node-name'), { recursive: true });
  expect(keptName(place)).toMatch(/^bloomery-[0-9a-f]{8}$/);
  expect(keptName(join(folder, 'missing'))).toMatch(/^bloomery-[0-9a-f]{8}$/);
});

test('keptName replaces a name that is none', () => {
  const place = join(folder, 'damaged');
  mkdirSync(place);
  for (const damage of ['', 'bloomery-xyz\n', 'a\r\nSet-Cookie: b']) {
    writeFileSync(join(place, 'node-name'), damage);
    const name = keptName(place);
    expect(name).toMatch(/^bloomery-[0-9a-f]{8}$/);
    expect(keptName(place)).toBe(name);
    expect(readFileSync(join(place, 'node-name'), 'utf8')).toBe(`${name}\n`);
  }
});
