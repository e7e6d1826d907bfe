/**
 * Exact agreement with nfpcapd and nfdump (Debian's nfdump) and with tcpdump: IP bytes and packets
 * of every five-tuple, and the number of packets.
 *
 * A capture that is made here runs always. BLOOMERY_DATA names a folder whose `captures` holds real
 * ones; without it those are skipped.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  CaptureWriter,
  HeaderBatch,
  HeaderDecoder,
  PacketBatch,
  readBatches,
} from '../../src/capture/index.ts';
import { openCapture } from '../../src/capture/node/index.ts';
import { ethernet, ipv4, ipv6, join, tcp, udp } from './build-packet.ts';
import { type FlowSums, nfdumpSums, SumTable } from './flow-sums.ts';

const DATA = process.env.BLOOMERY_DATA;
const CAPTURES = DATA === undefined ? '' : joinPath(DATA, 'captures');
const isThere = CAPTURES !== '' && existsSync(CAPTURES);

/**
 * Captures that nfpcapd cannot be asked about: it has no SLL2, and it skips every packet of
 * zeek-gre-aruba, whose GRE carries a protocol that it does not know.
 */
const NOT_BY_NFPCAPD = ['suricata-sll2.pcap', 'zeek-gre-aruba.pcap'];

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(joinPath(tmpdir(), 'bloomery-nfpcapd-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Our sums of a capture, and its number of packets. */
async function ourSums(path: string): Promise<{ sums: FlowSums; packets: number }> {
  const batch = new PacketBatch();
  const headers = new HeaderBatch(batch.capacity);
  const decoder = new HeaderDecoder();
  const table = new SumTable();
  for await (const { count } of readBatches(openCapture(path), { batch })) {
    decoder.decode(batch, headers);
    expect(headers.count).toBe(count);
    table.addPackets(batch, headers);
  }
  return { sums: table.sums, packets: decoder.counts.packets };
}

/** The sums of nfpcapd and nfdump for an unpacked capture. */
function nfpcapdSums(path: string): FlowSums {
  const out = mkdtempSync(joinPath(folder, 'out-'));
  const { status, stderr } = spawnSync('nfpcapd', ['-r', path, '-w', out], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`Cannot run nfpcapd: expected status 0, got ${status} (${stderr})`);
  return nfdumpSums(out);
}

function tcpdumpCount(path: string): number {
  const { stdout } = spawnSync('tcpdump', ['--count', '-r', path], { encoding: 'utf8' });
  return Number(/^(\d+) packets?/m.exec(stdout)?.[1]);
}

/** The same capture unpacked, for programs that do not unpack. */
async function unpacked(path: string): Promise<string> {
  if (!path.endsWith('.gz')) return path;
  const parts: Uint8Array[] = [];
  for await (const part of openCapture(path)) parts.push(Uint8Array.from(part));
  const plain = joinPath(folder, 'unpacked.pcap');
  writeFileSync(plain, Buffer.concat(parts));
  return plain;
}

test('A capture of 600 flows has the sums of nfpcapd and nfdump, and the packets of tcpdump', async () => {
  const writer = new CaptureWriter({ format: 'pcap' });
  for (let i = 0; i < 3000; i++) {
    const flow = (i * 7919) % 600;
    const source = [10, 1, flow >>> 8, flow & 255];
    const filling = new Array<number>((i * 37) % 300).fill(i & 255);
    const link = flow % 5 === 0 ? ethernet(0x0800, [0x8100, 7]) : ethernet(0x0800);
    const packet =
      flow % 3 === 0
        ? join(ethernet(0x86dd), ipv6(17, udp(1000 + flow, 53, filling)))
        : join(link, ipv4({ protocol: 6, source }, tcp(2000 + flow, 443, filling)));
    const bytes = packet.subarray(0, 96);
    writer.add({ seconds: 1_700_000_000 + i, nanoseconds: i, bytes, wireLength: packet.length });
  }
  const path = joinPath(folder, 'made.pcap');
  writeFileSync(path, writer.take());
  const { sums, packets } = await ourSums(path);
  expect(packets).toBe(3000);
  expect(tcpdumpCount(path)).toBe(3000);
  expect(sums.size).toBe(600);
  expect(sums).toEqual(nfpcapdSums(path));
});

describe.skipIf(!isThere)(
  `real captures${isThere ? '' : ' (skipped: BLOOMERY_DATA names no folder with captures)'}`,
  () => {
    const names = isThere ? readdirSync(CAPTURES).filter((name) => /\.pcap(ng)?(\.gz)?$/.test(name)) : [];
    test.for(names)('%s has the sums of nfpcapd and nfdump, and the packets of tcpdump', async (name) => {
      const path = joinPath(CAPTURES, name);
      const { sums, packets } = await ourSums(path);
      const plain = await unpacked(path);
      expect(packets).toBe(tcpdumpCount(plain));
      if (!NOT_BY_NFPCAPD.includes(name)) expect(sums).toEqual(nfpcapdSums(plain));
    });
  },
);
