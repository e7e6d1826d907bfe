/** `bloomery queue`: its table, its data, its plot, and options that it refuses. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bloomery, temporaryFolder } from '../run-command.ts';

const folder = temporaryFolder();
const queue = (line: string) => bloomery(['queue', ...line.split(' ')], { cwd: folder });
const SMALL = '--link 2M --buffer 20 --tcp 5 --rtt 20-60 --udp 2M --seconds 5 --warm-up 3';

test('queue prints a row for each queue and rate, with a legend for each column', () => {
  const { code, stdout, stderr } = queue(`${SMALL} --queue fifo,rates --explain`);
  expect([code, stderr]).toEqual([0, '']);
  const lines = stdout.split('\n');
  expect(lines[0]).toBe(
    '2 Mbit/s, 20 packets of buffer; 5 connections of TCP, round trips of 20 to 60 ms, ECN off; 5 s after 3 s',
  );
  const head = lines.findIndex((line) => line.startsWith('UDP sends'));
  expect(lines[head]).toMatch(/UDP sends {2}queue {2}UDP gets {2}fair parts/);
  const fairParts = (line: string) => Number(line.trim().split(/ +/)[3]);
  // A flood takes most of a FIFO with six flows, and two fair parts at most of the other.
  expect(fairParts(lines[head + 1]!)).toBeGreaterThan(3);
  expect(fairParts(lines[head + 2]!)).toBeLessThan(2);
  for (const name of lines[head]!.trim().split(/ {2,}/).slice(2))
    expect(
      lines.slice(head + 3).some((line) => line.startsWith(name)),
      name,
    ).toBe(true);
  expect(stdout).toContain('rates: fair rates by 2 levels');
});

test('queue --json gives the same in every run, and --ecn marks', () => {
  const first = queue(`${SMALL} --queue sfb-survey --ecn --json`);
  expect(first.code).toBe(0);
  const report = JSON.parse(first.stdout);
  expect(report.runs).toHaveLength(1);
  expect(report.runs[0]).toMatchObject({ queue: 'sfb-survey', udpBitsPerSecond: 2e6 });
  expect(report.runs[0].tcp).toHaveLength(5);
  expect(report.runs[0].tcpMarked).toBeGreaterThan(0);
  expect(queue(`${SMALL} --queue sfb-survey --ecn --json`).stdout).toBe(first.stdout);
});

test('queue --plot writes a picture, and does not replace one by itself', () => {
  const line = `${SMALL.replace('--udp 2M', '--udp 1M,2M')} --queue fifo --plot one.svg`;
  expect(queue(line).code).toBe(0);
  const svg = readFileSync(join(folder, 'one.svg'), 'utf8');
  expect(svg).toContain('What a flow gets that does not respond');
  expect(svg).toContain('prefers-color-scheme: dark');
  expect(queue(line).stderr).toContain('exists');
  expect(queue(`${line} --force`).code).toBe(0);
});

test.each([
  ['--queue blue', 'Expected queues of fifo'],
  ['--rtt 50-20', 'Expected times in milliseconds'],
  ['--tcp 1M', 'Expected at most 2000 flows'],
  ['--udp 2M,x', 'whole number'],
  ['--buffer 0', 'at least 1'],
])('queue %s is refused', (line, message) => {
  const { code, stderr, stdout } = queue(line);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(message);
});
