/**
 * Exact flows beside nfpcapd and nfdump: addresses, ports, protocol, IP bytes and packets of every
 * flow, to the byte. nfpcapd splits long flows into records, so its records are added up by nfdump.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeZipfCapture } from '@bloomery/testkit/captures/zipf-capture';
import { withEffort } from '@bloomery/testkit/effort';
import { afterAll, expect, test } from 'vitest';
import { CaptureDecoder, HeaderBatch, HeaderDecoder, PacketBatch } from '../../src/capture/index.ts';
import { FlowMeter } from '../../src/flows/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'bloomery-nfdump-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(program: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { maxBuffer: 1 << 28 });
  if (error || status !== 0) throw error ?? new Error(`Cannot run ${program}: ${stderr}`);
  return stdout.toString();
}

/** Lines of source, port, destination, port, protocol, bytes, packets, sorted. */
function nfdumpLines(capture: string): string[] {
  const records = mkdtempSync(join(folder, 'records-'));
  run('nfpcapd', ['-r', capture, '-l', records, '-t', '86400']);
  const format = 'fmt:%sa,%sp,%da,%dp,%pr,%byt,%pkt';
  const fields = 'srcip,srcport,dstip,dstport,proto';
  return run('nfdump', ['-R', records, '-A', fields, '-N', '-q', '-6', '-o', format])
    .split('\n')
    .filter((line) => line.includes(','))
    .map((line) => line.replaceAll(' ', ''))
    .sort();
}

function meterLines(capture: string): string[] {
  const meter = new FlowMeter({ secret: new Uint8Array(16) });
  const [batch, headers] = [new PacketBatch(), new HeaderBatch(4096)];
  const [decoder, header] = [new CaptureDecoder(), new HeaderDecoder()];
  decoder.push(readFileSync(capture));
  while (decoder.next(batch)) {
    header.decode(batch, headers);
    meter.add(batch, headers);
  }
  const { exact, top } = meter.report({ top: Number.POSITIVE_INFINITY });
  expect(exact).toBe(true);
  return top
    .map(({ flow, bytes, packets }) =>
      [
        flow.source,
        flow.sourcePort,
        flow.destination,
        flow.destinationPort,
        flow.protocol,
        bytes.atMost,
        packets.atMost,
      ].join(','),
    )
    .sort();
}

test('exact flows agree with nfdump to the byte, IPv4 and IPv6', () => {
  const path = join(folder, 'zipf.pcap');
  const flows = writeZipfCapture({
    path,
    packets: withEffort(30_000, 5000),
    flows: 10_000,
    order: 'mixed',
    seed: 1,
    ipv6: true,
  });
  const lines = meterLines(path);
  expect(lines.length).toBe(flows);
  expect(lines.filter((line) => line.includes(':')).length).toBeGreaterThan(flows / 10);
  expect(lines).toEqual(nfdumpLines(path));
});

const DATA = process.env.BLOOMERY_DATA;
test.runIf(DATA !== undefined)('exact flows of TCP and UDP in real captures agree with nfdump', () => {
  // Other protocols are left out: nfdump writes types of ICMP in place of ports.
  const usual = (lines: string[]) => lines.filter((line) => /,(6|17),\d+,\d+$/.test(line));
  for (const name of [
    'ndpi-gnutella.pcap',
    'zeek-bro-org.pcap',
    'ndpi-synscan.pcap',
    'ndpi-opera-vpn.pcapng',
  ]) {
    const path = join(DATA!, 'captures', name);
    expect(usual(meterLines(path)), name).toEqual(usual(nfdumpLines(path)));
  }
});
