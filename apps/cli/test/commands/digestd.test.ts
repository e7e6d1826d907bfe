/** `bloomery digestd` and `bloomery traceback`: tables, questions, kills, hostile input. */

import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CaptureWriter } from '@bloomery/packets/capture';
import { eventually, until } from '@bloomery/testkit/eventually';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { bloomery, startBloomery, temporaryFolder } from '../run-command.ts';

const folder = temporaryFolder();
const random = new Random(23);
const ETHERNET = Uint8Array.of(2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0);
const START_S = 1_700_000_000;

/** A UDP packet over IPv4, told apart by its number. */
function ipPacket(number: number): Uint8Array {
  const packet = new Uint8Array(100);
  const view = new DataView(packet.buffer);
  packet.set([0x45, 0, 0, 100, number >> 8, number, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
  view.setUint32(40, number);
  return packet;
}

function captureOf(numbers: readonly number[], timeOf = (number: number) => START_S + number): CaptureWriter {
  const writer = new CaptureWriter({ format: 'pcap' });
  for (const number of numbers) {
    const bytes = Uint8Array.from([...ETHERNET, ...ipPacket(number)]);
    writer.add({ seconds: timeOf(number), nanoseconds: 0, bytes });
  }
  return writer;
}

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);

function captureFile(name: string, numbers: readonly number[]): string {
  const path = join(folder, name);
  writeFileSync(path, captureOf(numbers).take());
  return path;
}

/** A running collector. */
async function start(dir: string, words: readonly string[] = []) {
  const child = startBloomery(['digestd', ...words, '--dir', dir, '--listen', '127.0.0.1:0']);
  child.stdin.on('error', () => {});
  let stderr = '';
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  const [line] = await once(child.stdout, 'data');
  const url = /http:\/\/[\d.:]+/.exec(String(line))?.[0] as string;
  return {
    child,
    url,
    get stderr() {
      return stderr;
    },
    async end(signal: NodeJS.Signals = 'SIGTERM') {
      const ended = once(child, 'exit');
      child.kill(signal);
      await ended;
    },
  };
}

async function seen(url: string, dir: string, number: number): Promise<boolean> {
  const response = await fetch(`${url}/v1/seen`, {
    method: 'POST',
    headers: { authorization: `Bearer ${readFileSync(join(dir, 'token'), 'utf8').trim()}` },
    body: JSON.stringify({ packet: Buffer.from(ipPacket(number)).toString('base64'), from: 0 }),
  });
  const answer = (await response.json()) as { seen: boolean; error?: unknown };
  expect(answer.error).toBeUndefined();
  return answer.seen;
}

test('digestd --once collects captures and says how much', () => {
  const dir = join(folder, 'once');
  const file = captureFile('once.pcap', upTo(500));
  const { stdout, stderr, code } = bloomery(['digestd', file, '--dir', dir, '--once']);
  expect(stdout).toMatch(/^500 digests of 500 packets in 8 closed tables, [\d,]+ bytes on disk\n$/);
  expect([stderr, code]).toEqual(['', 0]);
  expect(statSync(join(dir, 'key')).mode & 0o777).toBe(0o600);
  const table = join(dir, 'packets', '000000000000.digests');
  // The frame behind the head is an ordinary filter.
  writeFileSync(join(dir, 'x.blm'), readFileSync(table).subarray(96));
  const info = bloomery(['info', join(dir, 'x.blm'), '--key-file', join(dir, 'key')]);
  expect([info.code, info.stdout.includes('BlockedBloomFilter')]).toEqual([0, true]);
});

test('digestd answers while a pipe is open, and after a kill it lost at most what was not flushed', async () => {
  const dir = join(folder, 'killed');
  const first = await start(dir);
  const journal = join(dir, 'packets', 'open.journal');
  const writer = captureOf(upTo(50), () => START_S);
  first.child.stdin.write(writer.take());
  const sizeOf = () => (existsSync(journal) ? statSync(journal).size : 0);
  await until('the packets are in the journal', () => sizeOf() >= 36 + 50 * 8);
  const before = sizeOf();
  for (const number of upTo(40)) {
    const bytes = Uint8Array.from([...ETHERNET, ...ipPacket(1000 + number)]);
    writer.add({ seconds: START_S + 1, nanoseconds: 0, bytes });
  }
  first.child.stdin.write(writer.take());
  await eventually(() => seen(first.url, dir, 1039), 50_000);
  await until('the later packets are in the journal', () => sizeOf() >= before + 40 * 8);
  await first.end('SIGKILL');
  const again = await start(dir);
  for (const number of [...upTo(50), ...upTo(40).map((i) => 1000 + i)]) {
    expect(await seen(again.url, dir, number), `packet ${number}`).toBe(true);
  }
  expect(await seen(again.url, dir, 77)).toBe(false);
  await again.end();
});

test('a second collector on the same folder is refused, and so is another token', async () => {
  const dir = join(folder, 'locked');
  const first = await start(dir);
  const second = bloomery(['digestd', '--dir', dir, '--once'], { input: '' });
  expect([second.code, second.stderr.includes('Cannot lock')]).toEqual([2, true]);
  const answer = await fetch(`${first.url}/v1/status`, { headers: { authorization: 'Bearer wrong' } });
  expect(answer.status).toBe(401);
  await first.end();
});

test('malformed captures end with a warning, and the packets before the fault are remembered', async () => {
  const dir = join(folder, 'hostile');
  const whole = captureOf(upTo(100)).take();
  const damaged = Uint8Array.from(whole);
  // The record of packet 60 declares a length of 4 GiB.
  damaged.fill(255, 24 + 60 * (16 + 114) + 8, 24 + 60 * (16 + 114) + 12);
  const path = join(folder, 'damaged.pcap');
  writeFileSync(path, damaged);
  const collector = await start(dir, [path]);
  await until('the fault is reported', () => collector.stderr.includes('damaged.pcap'));
  expect(await seen(collector.url, dir, 59)).toBe(true);
  expect(await seen(collector.url, dir, 61)).toBe(false);
  await collector.end();
  const noise = bloomery(['digestd', '-', '--dir', join(folder, 'noise'), '--once'], {
    input: random.bytes(5000),
  });
  expect([noise.code, noise.stderr.includes('standard input')]).toEqual([0, true]);
});

test('a flood of sources and packets stays within the budget', () => {
  const dir = join(folder, 'flood');
  const file = captureFile('flood.pcap', upTo(2500));
  const small = ['--table', '4KiB', '--space', '20kB', '--span', '10s'];
  const { stdout, code } = bloomery(['digestd', file, '--dir', dir, '--once', '--json', ...small]);
  const status = JSON.parse(stdout) as Record<string, number>;
  expect([code, status.digested]).toEqual([0, 2500]);
  expect(status.bytes).toBeLessThan(30_000);
  expect(status.discarded).toBeGreaterThan(100);
});

test.each([
  [['--bits', '40'], 'bits'],
  [['--table', '1000'], 'power of two'],
  [['--tunnels', 'ssh'], 'gre, vxlan, ip'],
  [['--listen', 'nowhere'], '127.0.0.1:4780'],
])('digestd refuses %j', (words, text) => {
  const { code, stderr } = bloomery(['digestd', '--dir', join(folder, 'refused'), '--once', ...words]);
  expect([code, stderr.includes(text)]).toEqual([2, true]);
});

test('traceback prints a tree, JSON, Graphviz and SVG, and has the exit codes of grep', async () => {
  const dir = join(folder, 'trace');
  const file = captureFile('trace.pcap', upTo(30));
  const collector = await start(dir, [file]);
  await until('the packets are collected', () => seen(collector.url, dir, 29));
  const entry = { url: collector.url, tokenFile: 'trace/token' };
  const topology = join(folder, 'topology.json');
  const links = [
    ['victim', 'b'],
    ['b', 'far <&> away'],
  ];
  writeFileSync(
    topology,
    JSON.stringify({ start: 'victim', collectors: { victim: entry, b: entry, 'far <&> away': {} }, links }),
  );
  const trace = (...words: string[]) => bloomery(['traceback', file, '--topology', topology, ...words]);
  const text = trace();
  expect(text.stdout).toMatch(
    /^packet 1 of \S+: 10\.0\.0\.1 > 10\.0\.0\.2, udp, 100 bytes, 2023-11-14T22:13:20\.000Z\n/,
  );
  expect(text.stdout).toMatch(/\nvictim {2}seen\n└─ b {2}[\d.]+ % {2}seen/);
  expect(text.stdout).toContain('most likely path: b → victim');
  expect(text.code).toBe(0);
  expect(JSON.parse(trace('--json').stdout)).toMatchObject({ start: 'victim', path: ['b', 'victim'] });
  expect(trace('--format', 'dot').stdout).toContain('"b" -> "victim"');
  const svg = join(folder, 'route.svg');
  expect(trace('--format', 'svg', '-o', svg).code).toBe(0);
  expect(readFileSync(svg, 'utf8')).toContain('far &#60;&#38;&#62; away');
  expect(trace('--format', 'svg', '-o', svg).code).toBe(2);
  const other = captureFile('other.pcap', [999]);
  const none = bloomery(['traceback', other, '--topology', topology, '--from', '2000-01-01T00:00:00Z']);
  expect([none.code, none.stdout.includes('victim  not seen\n')]).toEqual([1, true]);
  const later = bloomery([
    'traceback',
    other,
    '--topology',
    topology,
    '--from',
    '2025-01-01T00:00:00Z',
    '--to',
    '2025-01-02T00:00:00Z',
  ]);
  expect([later.code, later.stdout.includes('victim  not seen, no packets of that time')]).toEqual([1, true]);
  expect(trace('--packet', '31').code).toBe(2);
  expect(trace('--start', 'nobody').stderr).toContain('no nobody');
  // Mistakes of the user are errors, and no silences of collectors.
  const wrong = (more: object) => {
    const path = join(folder, 'wrong.json');
    writeFileSync(path, JSON.stringify({ start: 'a', collectors: { a: entry, b: more }, links: [] }));
    return bloomery(['traceback', file, '--topology', path]);
  };
  expect(wrong({ url: collector.url, tokenFile: 'none/token' })).toMatchObject({ code: 2, stdout: '' });
  expect(wrong({ url: collector.url }).stderr).toContain('collector b has a url and no token');
  await collector.end();
});
