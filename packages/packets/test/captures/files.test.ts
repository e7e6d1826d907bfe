/**
 * Captures that are written, packed, cut, piped and read again, with tcpdump, gzip and zstd as the
 * programs on the other side.
 */

import { spawn, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type ByteSource,
  type CapturedPacket,
  CaptureWriter,
  type PacketToWrite,
  readCapture,
} from '../../src/capture/index.ts';
import { openCapture, unpackCapture } from '../../src/capture/node/index.ts';
import { ethernet, ipv4, ipv6, join, tcp, udp } from './build-packet.ts';

const PACKETS: PacketToWrite[] = Array.from({ length: 50 }, (_, i) => ({
  seconds: 1_700_000_000 + i,
  nanoseconds: 1000 * i + 7,
  bytes:
    i % 2 === 0
      ? join(ethernet(0x0800), ipv4({ protocol: 17 }, udp(1000 + i, 53, [1, 2, 3])))
      : join(ethernet(0x86dd), ipv6(6, tcp(1000 + i, 443))),
  wireLength: 1000 + i,
}));

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(joinPath(tmpdir(), 'bloomery-captures-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function written(format: 'pcap' | 'pcapng', packets: readonly PacketToWrite[] = PACKETS): Uint8Array {
  const writer = new CaptureWriter({ format });
  for (const packet of packets) writer.add(packet);
  return writer.take();
}

function fileOf(name: string, bytes: Uint8Array): string {
  const path = joinPath(folder, name);
  writeFileSync(path, bytes);
  return path;
}

/** All packets, and the code of the error at the end. */
async function readAll(source: ByteSource): Promise<{ packets: CapturedPacket[]; code: string | undefined }> {
  const packets: CapturedPacket[] = [];
  try {
    for await (const packet of readCapture(source)) packets.push(packet);
    return { packets, code: undefined };
  } catch (error) {
    expect(error).toMatchObject({ name: 'CaptureError' });
    return { packets, code: (error as { code: string }).code };
  }
}

/** Lines that tcpdump prints for a file. */
function tcpdump(path: string, ...options: string[]): string[] {
  const { stdout, status, stderr } = spawnSync('tcpdump', ['-nn', '-r', path, ...options], {
    encoding: 'utf8',
  });
  expect(status, stderr).toBe(0);
  return stdout.trim().split('\n');
}

test.for(['pcap', 'pcapng'] as const)(
  'CaptureWriter writes %s that tcpdump and readCapture read',
  async (format) => {
    const bytes = written(format);
    const lines = tcpdump(fileOf(`written.${format}`, bytes), '-tt', '--nano', '-q');
    expect(lines).toHaveLength(50);
    expect(lines[4]).toBe('1700000004.000004007 IP 10.0.0.1.1004 > 10.0.0.2.53: UDP, length 3');
    expect(lines[5]).toBe('1700000005.000005007 IP6 2001:db8::1.1005 > 2001:db8::2.443: tcp 0');
    const { packets, code } = await readAll([bytes]);
    expect(code).toBeUndefined();
    expect(packets).toHaveLength(50);
    for (const [i, packet] of packets.entries()) expect(packet).toMatchObject(PACKETS[i]);
    expect(packets[4]).toMatchObject({
      linkType: 1,
      ipLength: 31,
      flow: {
        source: '10.0.0.1',
        destination: '10.0.0.2',
        protocol: 17,
        sourcePort: 1004,
        destinationPort: 53,
      },
    });
  },
);

test('CaptureWriter keeps link types apart in pcapng, and takes what was added since the last time', async () => {
  const writer = new CaptureWriter();
  writer.add({ ...PACKETS[0], comment: 'looped 3 times: ↻' });
  const first = writer.take();
  writer.add({ ...PACKETS[1], bytes: PACKETS[1].bytes.subarray(14), linkType: 101 });
  writer.add(PACKETS[2]);
  const file = Buffer.concat([first, writer.take()]);
  expect(file.includes('looped 3 times: ↻')).toBe(true);
  const { packets } = await readAll([file]);
  expect(packets.map(({ linkType, interfaceId }) => [linkType, interfaceId])).toEqual([
    [1, 0],
    [101, 1],
    [1, 0],
  ]);
  expect(packets.every(({ flow }) => flow !== null)).toBe(true);
  expect(tcpdump(fileOf('comment.pcapng', first))).toHaveLength(1);
});

test('CaptureWriter refuses what its format cannot hold', () => {
  const writer = new CaptureWriter({ format: 'pcap' });
  writer.add(PACKETS[0]);
  expect(() => writer.add({ ...PACKETS[0], linkType: 101 })).toThrow(RangeError);
  expect(() => writer.add({ ...PACKETS[0], comment: 'no' })).toThrow(RangeError);
  expect(() => writer.add({ ...PACKETS[0], nanoseconds: 1e9 })).toThrow(
    'Cannot write a packet: expected nanoseconds from 0 to 999999999, got 1000000000',
  );
  expect(tcpdump(fileOf('empty.pcap', new CaptureWriter({ format: 'pcap' }).take()))).toEqual(['']);
});

test('openCapture reads plain and gzip files, by their bytes and not by their names', async () => {
  const plain = fileOf('plain.gz', written('pcapng'));
  const packed = fileOf('packed.pcap', gzipSync(written('pcap')));
  const members = Buffer.concat([
    gzipSync(written('pcap').subarray(0, 999)),
    gzipSync(written('pcap').subarray(999)),
  ]);
  for (const path of [plain, packed, fileOf('members', members)]) {
    expect((await readAll(openCapture(path))).packets).toHaveLength(50);
  }
});

test('openCapture reads named pipes, plain and packed', async () => {
  for (const [name, bytes] of Object.entries({
    plain: written('pcapng'),
    packed: gzipSync(written('pcap')),
  })) {
    const pipe = joinPath(folder, `${name}.fifo`);
    expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
    const cat = spawn('sh', ['-c', 'cat > "$0"', pipe], { stdio: ['pipe', 'ignore', 'inherit'] });
    cat.stdin.end(bytes);
    expect((await readAll(openCapture(pipe))).packets).toHaveLength(50);
  }
});

test('openCapture gives the packets of a gzip file before it is cut or damaged, then a typed error', async () => {
  const many = Array.from({ length: 2000 }, (_, i) => ({ ...PACKETS[i % 50], seconds: (i * 7919) % 65_537 }));
  const packed = gzipSync(written('pcap', many));
  const cut = await readAll(openCapture(fileOf('cut.gz', packed.subarray(0, packed.length - 2000))));
  expect(cut.code).toBe('truncated');
  expect(cut.packets.length).toBeGreaterThan(500);
  const damaged = Uint8Array.from(packed);
  damaged.fill(0xff, packed.length - 2000, packed.length - 1900);
  expect((await readAll(openCapture(fileOf('damaged.gz', damaged)))).code).toBe('malformed');
});

test('openCapture unpacks zstd by the function that it is given, and names it otherwise', async () => {
  const path = fileOf('packed.zst', spawnSync('zstd', ['-c'], { input: written('pcap') }).stdout);
  expect((await readAll(openCapture(path))).code).toBe('packed');
  async function* unpackZstd(packed: AsyncIterable<Uint8Array>) {
    const zstd = spawn('zstd', ['-dc'], { stdio: ['pipe', 'pipe', 'ignore'] });
    for await (const part of packed) zstd.stdin.write(part);
    zstd.stdin.end();
    yield* zstd.stdout;
  }
  expect((await readAll(openCapture(path, { unpackZstd }))).packets).toHaveLength(50);
});

test('openCapture stops when its signal says so', async () => {
  const signal = AbortSignal.abort();
  const reading = readCapture(openCapture(fileOf('stop.pcap', written('pcap')), { signal })).next();
  await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
});

test('readCapture delivers packets of a quiet pipe as they arrive', async () => {
  const file = written('pcap', PACKETS.slice(0, 3));
  // cat passes on what it is given and nothing else, so the pipe is quiet between two packets.
  const cat = spawn('cat', [], { stdio: ['pipe', 'pipe', 'inherit'] });
  const packets = readCapture(unpackCapture(cat.stdout));
  let at = 0;
  const ends = [24 + 16 + PACKETS[0].bytes.length];
  ends.push(ends[0] + 16 + PACKETS[1].bytes.length, file.length);
  for (const [i, end] of ends.entries()) {
    cat.stdin.write(file.subarray(at, end));
    at = end;
    // Resolves only if the packet is delivered before the next one is sent.
    expect((await packets.next()).value).toMatchObject(PACKETS[i]);
  }
  cat.stdin.end();
  expect(await packets.next()).toEqual({ done: true, value: undefined });
});

test('readCapture reads what tcpdump writes to a pipe', async () => {
  const path = fileOf('replayed.pcap', written('pcap'));
  const program = spawn('tcpdump', ['-r', path, '-U', '-w', '-'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const { packets, code } = await readAll(unpackCapture(program.stdout));
  expect(code).toBeUndefined();
  expect(packets.map(({ bytes }) => [...bytes])).toEqual(PACKETS.map(({ bytes }) => [...bytes]));
});

test('readCapture reads a live tcpdump packet by packet, before the next one is sent', async ({ skip }) => {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  const filter = ['udp', 'port', String(port)];
  const program = spawn('tcpdump', ['-i', 'lo', '--immediate-mode', '-U', '-s', '96', '-w', '-', ...filter], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(program, 'exit');
  try {
    // Read to its end: tcpdump writes this line in pieces, and would die of a closed pipe.
    let said = '';
    const listening = new Promise<void>((resolve) => {
      program.stderr.on('data', (part) => {
        said += part;
        if (said.includes('listening on')) resolve();
      });
      program.once('exit', () => resolve());
    });
    await listening;
    skip(!said.includes('listening on'), `tcpdump cannot capture here: ${said.trim()}`);
    const packets = readCapture(unpackCapture(program.stdout));
    for (let i = 1; i <= 3; i++) {
      socket.send(new Uint8Array(200 * i), port, '127.0.0.1');
      const { value } = await packets.next();
      expect(value).toMatchObject({
        wireLength: 14 + 28 + 200 * i,
        ipLength: 28 + 200 * i,
        flow: { source: '127.0.0.1', sourcePort: port, destinationPort: port, protocol: 17 },
      });
      expect(value?.bytes).toHaveLength(96);
    }
    program.kill('SIGINT');
    expect(await packets.next()).toEqual({ done: true, value: undefined });
  } finally {
    socket.close();
    program.kill('SIGKILL');
    await exited;
  }
});
