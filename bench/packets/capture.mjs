// Speed of reading captures: the walk over records, and the walk with flow keys, in millions of
// packets per CPU second, beside `tcpdump --count` and `tcpdump -w /dev/null` on the same file in
// the same run. Medians of rounds; CPU time (user and system), because wall time depends on the
// load. tcpdump's time includes its start.
//
//   npm run build && node bench/packets/capture.mjs [--packets 2000000] [--rounds 7]

import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  CaptureDecoder,
  CaptureWriter,
  HeaderBatch,
  HeaderDecoder,
  PacketBatch,
  readCapture,
} from '@bloomery/packets/capture';
import { openCapture } from '@bloomery/packets/capture/node';

const { values } = parseArgs({
  options: { packets: { type: 'string', default: '2000000' }, rounds: { type: 'string', default: '7' } },
});
const packets = Number(values.packets);
const rounds = Number(values.rounds);
const CHUNK_BYTES = 1 << 20;

/**
 * Writes a capture of TCP and UDP packets of 82 captured bytes, whose flows have log-uniform ranks
 * (about Zipf 1).
 * @param {string} path
 * @param {'pcap' | 'pcapng'} format
 */
function writeCapture(path, format) {
  const file = openSync(path, 'w');
  const writer = new CaptureWriter({ format });
  const bytes = new Uint8Array(82);
  const view = new DataView(bytes.buffer);
  view.setUint16(12, 0x0800);
  view.setUint16(14, 0x4500);
  bytes[22] = 64;
  let state = 12_345;
  for (let i = 0; i < packets; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    const rank = Math.floor(Math.exp(((state >>> 0) / 2 ** 32) * Math.log(800_000)));
    view.setUint16(16, 68 + (rank % 1400));
    bytes[23] = rank % 8 === 0 ? 17 : 6;
    view.setUint32(26, 0x0a000000 + rank);
    view.setUint32(30, 0xc0a80000 + ((rank * 7) % 65_536));
    view.setUint32(34, ((1024 + (rank % 60_000)) * 65_536 + 443) >>> 0);
    writer.add({ seconds: 1_700_000_000, nanoseconds: i % 1e9, bytes, wireLength: 82 + (rank % 1400) });
    if (i % 4096 === 0) writeSync(file, writer.take());
  }
  writeSync(file, writer.take());
  closeSync(file);
}

/**
 * CPU seconds for one pass.
 * @param {string} path
 * @param {boolean} withHeaders
 */
function readOnce(path, withHeaders) {
  const start = process.cpuUsage();
  const file = openSync(path, 'r');
  const memory = new Uint8Array(CHUNK_BYTES);
  const decoder = new CaptureDecoder();
  const headerDecoder = new HeaderDecoder();
  const batch = new PacketBatch();
  const headers = new HeaderBatch(batch.capacity);
  for (let read = 0; (read = readSync(file, memory)) > 0; ) {
    decoder.push(memory.subarray(0, read));
    while (decoder.next(batch)) if (withHeaders) headerDecoder.decode(batch, headers);
  }
  decoder.end();
  closeSync(file);
  if (decoder.packets !== packets) throw new Error(`Cannot measure: read ${decoder.packets} packets`);
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
}

/**
 * CPU seconds for one pass with an object per packet.
 * @param {string} path
 */
async function readObjects(path) {
  const start = process.cpuUsage();
  let count = 0;
  for await (const { flow } of readCapture(openCapture(path))) if (flow !== null) count++;
  if (count !== packets) throw new Error(`Cannot measure: read ${count} packets`);
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
}

/**
 * CPU seconds of a program, by the shell's own count of its children.
 * @param {string} command
 */
function childSeconds(command) {
  const { stderr } = spawnSync('bash', ['-c', `TIMEFORMAT='%U %S'; time ${command} >/dev/null 2>&1`], {
    encoding: 'utf8',
  });
  const [user, system] = stderr.trim().split(' ').map(Number);
  return user + system;
}

const folder = mkdtempSync(join(tmpdir(), 'bloomery-bench-'));
try {
  const pcap = join(folder, 'a.pcap');
  const pcapng = join(folder, 'a.pcapng');
  writeCapture(pcap, 'pcap');
  writeCapture(pcapng, 'pcapng');
  /** @type {[string, () => number | Promise<number>][]} */
  const rows = [
    ['pcap, walk', () => readOnce(pcap, false)],
    ['pcap, walk and flow keys', () => readOnce(pcap, true)],
    ['pcapng, walk', () => readOnce(pcapng, false)],
    ['pcapng, walk and flow keys', () => readOnce(pcapng, true)],
    ['pcap, objects (readCapture)', () => readObjects(pcap)],
    ['tcpdump --count', () => childSeconds(`tcpdump --count -r ${pcap}`)],
    ['tcpdump -w /dev/null', () => childSeconds(`tcpdump -r ${pcap} -w /dev/null`)],
  ];
  /** @type {number[][]} */
  const times = rows.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [i, [, run]] of rows.entries()) times[i].push(await run());
  }
  console.log(`${packets} packets, medians of ${rounds} rounds, load ${loadavg()[0].toFixed(1)}`);
  console.log('| what | CPU s | M packets per CPU s |\n|---|---|---|');
  for (const [i, [name]] of rows.entries()) {
    const median = times[i].sort((a, b) => a - b)[Math.floor(rounds / 2)];
    console.log(`| ${name} | ${median.toFixed(3)} | ${(packets / median / 1e6).toFixed(1)} |`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
