/**
 * sFlow v5 of pmacctd, a real exporter, decoded by us and by sfacctd, a real collector, from the
 * same datagrams: equal packets of every five-tuple, and equal bytes.
 *
 * pmacctd samples each packet of a capture, and repeats some of them at the ends of its buffers. So
 * the capture itself is no reference, and the other collector is.
 */

import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { eventually } from '@bloomery/testkit/eventually';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ExportDecoder, FlowRecords } from '../../src/capture/index.ts';
import { SumTable } from '../captures/flow-sums.ts';
import { captureToExport, freePort, waitingBytes } from './export-tools.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(joinPath(tmpdir(), 'bloomery-sflow-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Writes a configuration of pmacct, and returns its path. */
function configured(name: string, lines: Readonly<Record<string, string | number>>): string {
  const path = joinPath(folder, name);
  const all = { daemonize: 'false', plugin_pipe_size: 40_960_000, plugin_buffer_size: 4096, ...lines };
  writeFileSync(
    path,
    Object.entries(all)
      .map(([key, value]) => `${key}: ${value}\n`)
      .join(''),
  );
  return path;
}

/** Datagrams that pmacctd sends for a capture, until they have so many samples. */
async function exportedByPmacctd(samples: number): Promise<Uint8Array[]> {
  const capture = joinPath(folder, 'made.pcap');
  writeFileSync(capture, captureToExport());
  const datagrams: Uint8Array[] = [];
  const decoder = new ExportDecoder();
  const records = new FlowRecords();
  const socket = createSocket('udp4', (bytes) => {
    if (decoder.counts.records >= samples) return;
    datagrams.push(bytes);
    decoder.decode(bytes, 'pmacctd', records);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const path = configured('pmacctd.conf', {
    pcap_savefile: capture,
    // Again and again, because its plugin may be ready only after the first time, and its last
    // buffer is not sent.
    pcap_savefile_replay: 0,
    pcap_savefile_delay: 1,
    plugins: 'sfprobe',
    sfprobe_receiver: `127.0.0.1:${socket.address().port}`,
    sampling_rate: 1,
  });
  const pmacctd = spawn('pmacctd', ['-f', path], { stdio: 'ignore' });
  const ended = once(pmacctd, 'exit');
  try {
    await eventually(() => decoder.counts.records >= samples, 60_000);
  } finally {
    pmacctd.kill('SIGINT');
    await ended;
    socket.close();
  }
  return datagrams;
}

/**
 * Packets and bytes of every five-tuple as sfacctd counts them. Its printing process may start
 * after the datagrams have come, and then prints nothing, so an empty answer is asked for again.
 */
async function collectedBySfacctd(datagrams: readonly Uint8Array[]): Promise<Map<string, string>> {
  for (let i = 1; ; i++) {
    const sums = await printedBySfacctd(datagrams);
    if (sums.size > 0 || i === 5) return sums;
  }
}

async function printedBySfacctd(datagrams: readonly Uint8Array[]): Promise<Map<string, string>> {
  const port = await freePort();
  const path = configured('sfacctd.conf', {
    sfacctd_ip: '127.0.0.1',
    sfacctd_port: port,
    plugins: 'print',
    aggregate: 'src_host,dst_host,src_port,dst_port,proto',
    print_output: 'csv',
    print_refresh_time: 600,
    print_num_protos: 'true',
  });
  const sfacctd = spawn('sfacctd', ['-f', path], { stdio: ['ignore', 'pipe', 'ignore'] });
  let output = '';
  sfacctd.stdout.on('data', (text) => {
    output += text;
  });
  const ended = once(sfacctd, 'close');
  const socket = createSocket('udp4');
  try {
    await eventually(() => waitingBytes(port) !== null);
    for (const datagram of datagrams) {
      await new Promise((resolve) => socket.send(datagram, port, '127.0.0.1', resolve));
      await eventually(() => waitingBytes(port) === 0);
    }
  } finally {
    socket.close();
    sfacctd.kill('SIGINT');
    await ended;
  }
  const rows = output
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split(','));
  // It counts frames with their check sequence, and we count IP: 18 bytes less for each packet.
  return new Map(
    rows.map(([source, destination, sport, dport, protocol, packets, bytes]) => [
      `${source} ${destination} ${sport} ${dport} ${protocol}`,
      `${Number(bytes) - 18 * Number(packets)} ${packets}`,
    ]),
  );
}

test('ExportDecoder reads the sFlow of pmacctd as sfacctd does', async () => {
  const datagrams = await exportedByPmacctd(1500);
  const decoder = new ExportDecoder();
  const records = new FlowRecords();
  const table = new SumTable();
  for (const datagram of datagrams) {
    decoder.decode(datagram, 'pmacctd', records);
    table.addRecords(records);
  }
  expect(decoder.counts).toMatchObject({ refused: 0, notIp: 0, otherSamples: 0 });
  expect(decoder.counts.records).toBeGreaterThanOrEqual(1500);
  expect(table.sums.size).toBeGreaterThan(250);
  expect(await collectedBySfacctd(datagrams)).toEqual(table.sums);
});
