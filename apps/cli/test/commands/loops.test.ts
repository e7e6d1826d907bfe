/** `bloomery loops`: its answers as text and as JSON, its exit codes, packets as a file, a pipe. */

import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { CaptureDecoder, CaptureWriter, PacketBatch } from '@bloomery/packets/capture';
import { expect, test } from 'vitest';
import { bloomery, startBloomery, temporaryFolder } from '../run-command.ts';

const folder = temporaryFolder();

test('loops prints a table, and ends with exit code 0 if there is a loop and 1 if there is none', () => {
  const looping = fileOf('looping.pcapng', packets(64, 60, 56, 52));
  const { stdout, stderr, code } = bloomery(['loops', looping]);
  expect(stdout.split('\n')).toEqual([
    'destination  hops  packets  sightings  TTL       first                     lasted  expired',
    expect.stringMatching(
      /^10\.77\.0\.9 {7}4 {8}1 {10}2 {2}64 to 52 {2}1970-01-01T00:16:40\.002Z {2}0\.00 s {8}0$/,
    ),
    '',
    '1 loop: 2 of 4 IP packets (50.0 %) had been here before',
    '',
  ]);
  expect([stderr, code]).toEqual(['', 0]);
  const quiet = bloomery(['loops', fileOf('quiet.pcapng', packets(64, 63))]);
  expect([quiet.stdout, quiet.code]).toEqual(['no loop in 2 IP packets\n', 1]);
});

test('loops --json gives the same as data', () => {
  const { stdout, code } = bloomery(['loops', '--json', fileOf('json.pcapng', packets(64, 62, 60))]);
  expect(JSON.parse(stdout)).toEqual({
    loops: [
      {
        destination: '10.77.0.9',
        source: '10.1.1.1',
        packets: 1,
        sightings: 1,
        turns: 1,
        hops: 2,
        ttl: [64, 60],
        first: '1970-01-01T00:16:40.002Z',
        last: '1970-01-01T00:16:40.002Z',
        expired: 0,
      },
    ],
    packets: 3,
    ipPackets: 3,
    loopingSightings: 1,
    timeExceeded: 0,
    unlisted: 0,
    rememberedSeconds: null,
  });
  expect(code).toBe(0);
});

test('loops -o writes the packets that came back, byte for byte', () => {
  const all = packets(64, 62, 60, 58);
  const output = join(folder, 'found.pcapng');
  expect(bloomery(['loops', fileOf('four.pcapng', all), '-o', output]).code).toBe(0);
  expect(readPackets(readFileSync(output))).toEqual(all.slice(2));
  const again = bloomery(['loops', join(folder, 'four.pcapng'), '-o', output]);
  expect([again.code, again.stderr]).toEqual([
    2,
    expect.stringContaining('exists already; --force replaces it'),
  ]);
  // A run without loops writes a capture without packets.
  expect(bloomery(['loops', fileOf('none.pcapng', packets(9)), '-o', output, '--force']).code).toBe(1);
  expect(readPackets(readFileSync(output))).toEqual([]);
});

test('loops reads packed and cut captures, several files, and refuses other files', () => {
  const bytes = captureOf(packets(64, 62, 60, 58));
  const packed = join(folder, 'packed.gz');
  writeFileSync(packed, gzipSync(bytes));
  expect(bloomery(['loops', packed]).code).toBe(0);
  // A packet goes on looping in the next file.
  const files = [fileOf('part1.pcapng', packets(64, 62)), fileOf('part2.pcapng', packets(60))];
  expect(bloomery(['loops', ...files]).code).toBe(0);
  const cut = bloomery(['loops', '-'], { input: bytes.subarray(0, bytes.length - 10) });
  expect([cut.code, cut.stdout]).toEqual([0, expect.stringContaining('1 loop: 1 of 3 IP packets')]);
  expect(cut.stderr).toContain('the answer is about the packets before it');
  const other = bloomery(['loops'], { input: 'no capture at all' });
  expect([other.code, other.stderr]).toEqual([2, expect.stringContaining('standard input is no capture')]);
});

test('loops explains options that cannot be', () => {
  for (const [words, message] of [
    [['--ttls', '128'], '--ttls must be from 2 to 127, got 128'],
    [['--memory', '1k'], '--memory must be from 32KiB to 4GiB'],
    [['--prefix', '33'], 'Expected lengths of prefixes such as 24/48 or 16'],
    [['--json', '-o', '-'], '--json and -o - both want standard output'],
  ] as const) {
    const { code, stderr } = bloomery(['loops', ...words]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  }
});

test('loops --live tells a loop while the pipe is open, and a signal brings the answer', async () => {
  const child = startBloomery(['loops', '--live']);
  child.stdin.write(captureOf(packets(64, 62, 60)));
  const [line] = await once(child.stdout, 'data');
  expect(String(line)).toBe('1970-01-01T00:16:40.002Z loop to 10.77.0.9, from 10.1.1.1, TTL 64 to 60\n');
  let rest = '';
  child.stdout.on('data', (text) => {
    rest += text;
  });
  const ended = once(child, 'close');
  child.kill('SIGTERM');
  expect(await ended).toEqual([null, 'SIGTERM']);
  expect(rest).toContain('1 loop: 1 of 3 IP packets');
});

/** An Ethernet frame with the same UDP packet, at each of these TTLs. */
function packets(...ttls: number[]): Uint8Array[] {
  return ttls.map((ttl) => {
    const frame = new Uint8Array(14 + 60).fill(7);
    frame.set([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]);
    frame.set([0x45, 0, 0, 60, 0, 1, 0, 0, ttl, 17, 0, 0, 10, 1, 1, 1, 10, 77, 0, 9], 14);
    return frame;
  });
}

function captureOf(frames: readonly Uint8Array[]): Uint8Array {
  const writer = new CaptureWriter();
  for (const [i, bytes] of frames.entries()) writer.add({ seconds: 1000, nanoseconds: i * 1e6, bytes });
  return writer.take();
}

function fileOf(name: string, frames: readonly Uint8Array[]): string {
  const path = join(folder, name);
  writeFileSync(path, captureOf(frames));
  return path;
}

function readPackets(capture: Uint8Array): Uint8Array[] {
  const decoder = new CaptureDecoder();
  const batch = new PacketBatch();
  const found: Uint8Array[] = [];
  decoder.push(capture);
  while (decoder.next(batch))
    for (let row = 0; row < batch.count; row++)
      found.push(
        Uint8Array.from(
          batch.bytes.subarray(batch.offset[row], batch.offset[row]! + batch.capturedLength[row]!),
        ),
      );
  decoder.end();
  return found;
}
