/** Files of the real zstd and pzstd: whole, in many frames, damaged, cut off, with odd needs. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Random } from '@bloomery/testkit/statistics';
import { afterAll, expect, test } from 'vitest';
import { UnpackError } from './packed-part.ts';
import { zstdParts } from './zstd-parts.ts';

const scratch = mkdtempSync(join(tmpdir(), 'bloomery-zstd-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function logText(lines: number): Buffer {
  const random = new Random(7);
  return Buffer.from(
    Array.from({ length: lines }, (_, i) => `line ${i} id=${random.bits().toString(16)}\n`).join(''),
  );
}

function zstd(input: Uint8Array, ...args: string[]): Buffer {
  const { stdout, status, stderr } = spawnSync('zstd', ['-q', '-c', ...args], { input, maxBuffer: 1 << 28 });
  expect(status, String(stderr)).toBe(0);
  return stdout;
}

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function unpack(packed: Uint8Array, { piece = 1 << 16, mostWindow = 2 ** 27 } = {}) {
  const text: Uint8Array[] = [];
  const ends: number[] = [];
  for await (const part of zstdParts(inPieces(packed, piece), { mostWindow })) {
    if (part.kind === 'data') text.push(part.bytes);
    else ends.push(part.end);
  }
  return { text: Buffer.concat(text), ends };
}

const skippable = (bytes: number) => {
  const frame = Buffer.alloc(8 + bytes, 1);
  frame.writeUInt32LE(0x184d2a5e, 0);
  frame.writeUInt32LE(bytes, 4);
  return frame;
};

test('zstdParts unpacks frames of all kinds, and tells where they end', async () => {
  const text = logText(20_000);
  const file = join(scratch, 'text');
  writeFileSync(file, text);
  const whole = spawnSync('zstd', ['-q', '-c', file], { maxBuffer: 1 << 28 }).stdout;
  // A file has its size in the frame, a pipe does not. Both have a checksum unless it is refused.
  const kinds = [
    whole,
    zstd(text),
    zstd(text, '-1', '--no-check'),
    zstd(text, '-19'),
    zstd(text, '--long=27'),
  ];
  for (const packed of kinds)
    for (const piece of [1 << 16, 1 << 20]) {
      const found = await unpack(packed, { piece });
      expect(Buffer.compare(found.text, text)).toBe(0);
      expect(found.ends).toEqual([packed.length]);
    }
  const empty = zstd(Buffer.alloc(0));
  const parts = [whole, skippable(300_000), empty, whole, skippable(0), skippable(9)];
  const found = await unpack(Buffer.concat(parts), { piece: 1000 });
  expect(Buffer.compare(found.text, Buffer.concat([text, text]))).toBe(0);
  const second = whole.length + 300_008 + empty.length;
  expect(found.ends).toEqual([whole.length, second, second + whole.length]);
  const large = Buffer.concat(Array.from({ length: 20 }, () => text));
  expect(Buffer.compare((await unpack(zstd(large, '-1'))).text, large)).toBe(0);
  const { stdout } = spawnSync('pzstd', ['-q', '-p', '3', '-c', file], { maxBuffer: 1 << 28 });
  expect(Buffer.compare((await unpack(stdout)).text, text)).toBe(0);
});

test('zstdParts refuses damaged and cut frames, and never ends quietly', async () => {
  const text = logText(300);
  const file = join(scratch, 'small');
  writeFileSync(file, text);
  for (const packed of [zstd(text), spawnSync('zstd', ['-q', '-c', file]).stdout]) {
    for (let length = 1; length < packed.length; length += 41)
      await expect(unpack(packed.subarray(0, length))).rejects.toBeInstanceOf(UnpackError);
    const twice = Buffer.concat([packed, packed]);
    await expect(unpack(twice.subarray(0, -1))).rejects.toBeInstanceOf(UnpackError);
    for (let bit = 32; bit < 8 * packed.length; bit += 211) {
      const damaged = Buffer.from(packed);
      damaged[bit >> 3] ^= 1 << (bit & 7);
      const outcome = await unpack(damaged).then(
        (found) => found.text,
        (error) => error,
      );
      // A changed bit may have no meaning, as the reserved ones of the header.
      if (Buffer.isBuffer(outcome)) expect(Buffer.compare(outcome, text)).toBe(0);
      else expect(outcome).toBeInstanceOf(UnpackError);
    }
    await expect(unpack(Buffer.concat([packed, Buffer.from('more bytes than that')]))).rejects.toThrow(
      `expected a zstd frame at byte ${packed.length}`,
    );
  }
});

test('zstdParts frees its memory when the caller stops early', async () => {
  const packed = zstd(logText(40_000), '--ultra', '--long=27');
  // Each frame asks for 128 MiB; together they would not fit into WebAssembly.
  for (let i = 0; i < 33; i++) {
    for await (const part of zstdParts(inPieces(packed, 1 << 16), { mostWindow: 2 ** 27 })) {
      expect(part.kind).toBe('data');
      break;
    }
  }
});

test('zstdParts frees its memory after a damaged frame', async () => {
  const packed = zstd(logText(40_000), '--ultra', '--long=27');
  // A block of the reserved type 3 behind the first ones, so that the decoder is at work.
  const header = packed.length >> 1;
  const damaged = Buffer.from(packed).fill(0xff, header, header + 4000);
  for (let i = 0; i < 40; i++) await expect(unpack(damaged)).rejects.toBeInstanceOf(UnpackError);
  expect((await unpack(packed)).text.length).toBe(logText(40_000).length);
});

test('zstdParts names the dictionary, the window and the old format that it cannot serve', async () => {
  const text = logText(2000);
  const samples = join(scratch, 'samples');
  writeFileSync(samples, text);
  const dictionary = join(scratch, 'dictionary');
  const trained = spawnSync('zstd', ['-q', '--train', '-B2000', samples, '--maxdict=4000', '-o', dictionary]);
  expect(trained.status, String(trained.stderr)).toBe(0);
  await expect(unpack(zstd(text, '-D', dictionary))).rejects.toMatchObject({
    code: 'zstd-dictionary',
    message: expect.stringContaining('zstd -d -D'),
  });
  await expect(unpack(zstd(text, '--ultra', '--long=30'))).rejects.toMatchObject({
    code: 'zstd-window',
    message: expect.stringContaining('--long=30'),
  });
  const old = Buffer.from([0x27, 0xb5, 0x2f, 0xfd, ...Buffer.alloc(40)]);
  await expect(unpack(old)).rejects.toThrow('expected the format of zstd 0.8 or later');
});
