/** `bloomery route`: experiments, and three nodes that run. */

import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { eventually } from '@bloomery/testkit/eventually';
import { expect, onTestFinished, test } from 'vitest';
import { bloomery, startBloomery, temporaryFolder } from '../run-command.ts';

const folder = temporaryFolder();

test('route simulate measures a network and draws it, the same for the same seed', () => {
  const svg = join(folder, 'network.svg');
  const words = ['route', 'simulate', '--nodes', '120', '--queries', '300', '--json'];
  const { stdout, stderr, code } = bloomery([...words, '--svg', svg]);
  expect([stderr, code]).toEqual(['', 0]);
  const figures = JSON.parse(stdout) as Record<string, number>;
  expect(figures).toMatchObject({ wrong: 0, absent: 300 });
  expect(figures.nearShortest / figures.near).toBeGreaterThan(0.98);
  const picture = readFileSync(svg, 'utf8');
  expect(picture).toMatch(/^<svg [\s\S]*class="way"[\s\S]*<\/svg>\n$/);
  for (const words of ['asks', 'holds the key', 'another node'])
    expect(picture).toContain(`>${words}</text>`);
  expect(picture).not.toContain('does not run');
  expect(bloomery(words).stdout).toBe(stdout);
  expect(bloomery([...words, '--seed', '2']).stdout).not.toBe(stdout);
  const churned = JSON.parse(bloomery([...words, '--churn', '10%']).stdout) as Record<string, number>;
  expect(churned.wrong).toBe(0);
  expect(churned.nearFound / churned.near).toBeLessThan(1);
});

test('route simulate refuses networks that do not fit, in one line', () => {
  const { stderr, code } = bloomery(['route', 'simulate', '--levels', '6']);
  expect(stderr).toMatch(/^bloomery: error: Cannot plan routes: expected at least \d+ bytes of state/);
  expect(code).toBe(2);
});

test('route simulate with copies at all nodes has nothing to look for, and says so', () => {
  const { stdout, code } = bloomery([
    'route',
    'simulate',
    '--nodes',
    '20',
    '--replicas',
    '20',
    '--queries',
    '10',
  ]);
  expect([stdout.includes('NaN'), code]).toEqual([false, 0]);
  expect(stdout).toMatch(/found by filters +–/);
});

test('route run says that its NATS server does not answer, and no key is absent meanwhile', async () => {
  const secret = join(folder, 'secret of a');
  writeFileSync(secret, 'a secret of many letters\n');
  const [control, nats] = await freePorts(2);
  const words = ['--id', 'a', '--secret-file', secret, '--control', String(control)];
  const child = startBloomery(['route', 'run', ...words, '--nats', `nats://127.0.0.1:${nats}`]);
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stderr.on('data', (bytes) => {
    said += bytes;
  });
  await eventually(() => said.includes('nats-down'));
  const locate = () => bloomery(['route', 'locate', 'x', '--node', `http://127.0.0.1:${control}`]).stdout;
  await eventually(() => locate() !== '');
  expect(locate()).toBe('unknown: no other member is known\n');
});

test('route compare prints a row for each way, size and rate', () => {
  const { stdout, code } = bloomery([
    'route',
    'compare',
    '--nodes',
    '10,20',
    '--rates',
    '1%',
    '--rounds',
    '1',
    '--questions',
    '10',
  ]);
  expect(code).toBe(0);
  expect(stdout.trimEnd().split('\n')).toHaveLength(1 + 2 * 4);
});

test('route run, announce, locate, show and withdraw work together', async () => {
  const secret = join(folder, 'secret');
  writeFileSync(secret, 'a secret of many letters\n');
  const ports = await freePorts(6);
  const nodes = ['a', 'b', 'c'].map((id, i) => {
    const peers = [0, 1, 2].filter((other) => other !== i).map((other) => `http://127.0.0.1:${ports[other]}`);
    const child = startBloomery([
      'route',
      'run',
      '--id',
      id,
      '--secret-file',
      secret,
      '--listen',
      `127.0.0.1:${ports[i]}`,
      '--control',
      String(ports[3 + i]),
      '--interval',
      '200',
      ...peers.flatMap((peer) => ['--peer', peer]),
    ]);
    onTestFinished(() => void child.kill('SIGKILL'));
    return `http://127.0.0.1:${ports[3 + i]}`;
  });
  const route = (...words: string[]) => bloomery(['route', ...words]);
  await eventually(
    () => route('announce', 'a key', '--node', nodes[0]).stdout === 'confirmed by the directory\n',
  );
  await eventually(() =>
    /^a at http:.* \(by filters, 1 hops\)\n$/.test(route('locate', 'a key', '--node', nodes[2]).stdout),
  );
  const absent = route('locate', 'nowhere', '--node', nodes[1]);
  expect([absent.stdout, absent.code]).toEqual(['absent: no member holds it\n', 1]);
  const svg = join(folder, 'shown.svg');
  const shown = route('show', ...nodes.flatMap((node) => ['--node', node]), '--svg', svg);
  expect(shown.stdout).toMatch(/^a: 1 keys, 2 of 2 members up, neighbours [bc] [bc], /);
  expect(readFileSync(svg, 'utf8')).toContain('The neighbours of a');
  await eventually(() => route('withdraw', 'a key', '--node', nodes[0]).code === 0);
  await eventually(
    () => route('locate', 'a key', '--node', nodes[2]).stdout === 'absent: no member holds it\n',
  );
});

test('route locate says where it looked for a node', () => {
  const { stderr, code } = bloomery(['route', 'locate', 'x', '--node', 'http://127.0.0.1:9']);
  expect([stderr, code]).toEqual([
    'bloomery: error: no node answers at http://127.0.0.1:9; --node says where its control port is\n',
    2,
  ]);
});

/** Ports that are free now. */
async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<ReturnType<typeof createServer>>((resolve) => {
          const server = createServer().listen(0, '127.0.0.1', () => resolve(server));
        }),
    ),
  );
  return servers.map((server) => {
    const { port } = server.address() as { port: number };
    server.close();
    return port;
  });
}
