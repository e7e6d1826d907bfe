/**
 * Flow exports of softflowd, a real exporter, decoded by us and by nfcapd, a real collector, from
 * the same datagrams: equal numbers of records, and equal bytes and packets of every five-tuple.
 *
 * softflowd reads a capture that is made here. BLOOMERY_DATA names a folder whose `captures` holds
 * ndpi-gnutella.pcap, a real one with many peers, which is used as well if it is there.
 */

import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { eventually } from '@bloomery/testkit/eventually';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ExportDecoder, FlowRecords, readCapture } from '../../src/capture/index.ts';
import { listenExports, openCapture } from '../../src/capture/node/index.ts';
import { nfdumpLines, nfdumpSums, SumTable } from '../captures/flow-sums.ts';
import { captureToExport, freePort, waitingBytes } from './export-tools.ts';

const SENTINEL = Uint8Array.of(0xee, 0xee, 0xee, 0xee);
const CAPTURES = joinPath(process.env.BLOOMERY_DATA ?? '', 'captures');
const GNUTELLA = joinPath(CAPTURES, 'ndpi-gnutella.pcap');

let folder = '';
const captures: string[] = [];
beforeAll(() => {
  folder = mkdtempSync(joinPath(tmpdir(), 'bloomery-exports-'));
  captures.push(joinPath(folder, 'made.pcap'));
  writeFileSync(captures[0], captureToExport());
  if (existsSync(GNUTELLA)) captures.push(GNUTELLA);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The datagrams that softflowd sends for a capture. */
async function exportedBy(version: number, capture: string): Promise<Uint8Array[]> {
  const stop = new AbortController();
  const datagrams: Uint8Array[] = [];
  let port = 0;
  const receiving = (async () => {
    const options = {
      address: '127.0.0.1',
      port: 0,
      signal: stop.signal,
      onListening: (p: number) => void (port = p),
    };
    for await (const { bytes, dropped } of listenExports(options)) {
      expect(dropped).toBe(0);
      // Loopback keeps the order, so the last datagram is ours.
      if (bytes.length === SENTINEL.length) return;
      datagrams.push(bytes);
    }
  })();
  await eventually(() => port !== 0);
  const args = ['-r', capture, '-n', `127.0.0.1:${port}`, '-v', String(version)];

  const own = ['-d', '-p', joinPath(folder, `${port}.pid`), '-c', 'none'];
  const softflowd = spawn('softflowd', [...own, ...args], { stdio: 'ignore', timeout: 60_000 });
  const [code] = await once(softflowd, 'exit');
  expect(code).toBe(0);
  const socket = createSocket('udp4');
  socket.send(SENTINEL, port, '127.0.0.1');
  await receiving;
  socket.close();
  return datagrams;
}

/** The folder that nfcapd writes when it receives these datagrams. */
async function collectedByNfcapd(datagrams: readonly Uint8Array[]): Promise<string> {
  const out = mkdtempSync(joinPath(folder, 'nfcapd-'));
  const port = await freePort();
  const nfcapd = spawn('nfcapd', ['-p', String(port), '-b', '127.0.0.1', '-w', out], { stdio: 'ignore' });
  const socket = createSocket('udp4');
  try {
    await eventually(() => waitingBytes(port) !== null);
    for (const datagram of datagrams) {
      await new Promise((resolve) => socket.send(datagram, port, '127.0.0.1', resolve));
      await eventually(() => waitingBytes(port) === 0);
    }
  } finally {
    socket.close();
    nfcapd.kill('SIGTERM');
    await once(nfcapd, 'exit');
  }
  return out;
}

test.for([5, 9, 10])('ExportDecoder reads version %i of softflowd as nfcapd does', async (version) => {
  for (const capture of captures) {
    const datagrams = await exportedBy(version, capture);
    const decoder = new ExportDecoder();
    const records = new FlowRecords();
    const table = new SumTable();
    for (const datagram of datagrams) {
      decoder.decode(datagram, 'softflowd', records);
      table.addRecords(records);
    }
    expect(decoder.waiting).toEqual([]);
    expect(decoder.counts.records).toBeGreaterThan(200);
    const theirs = await collectedByNfcapd(datagrams);
    expect(nfdumpLines(theirs).length).toBe(decoder.counts.records);
    expect(table.sums).toEqual(nfdumpSums(theirs));
  }
});

test.skipIf(!existsSync(GNUTELLA))('ExportDecoder reads the exports in real captures', async () => {
  const decodeAll = async (name: string) => {
    const decoder = new ExportDecoder();
    const records = new FlowRecords();
    const table = new SumTable();
    const rates = new Set<number>();
    for await (const { bytes, flow } of readCapture(openCapture(joinPath(CAPTURES, name)))) {
      decoder.decode(bytes.subarray(14 + 20 + 8), flow!.source, records);
      table.addRecords(records);
      for (const rate of records.sampling.subarray(0, records.count)) rates.add(rate);
    }
    return { counts: decoder.counts, waiting: decoder.waiting, sums: table.sums, rates };
  };
  // tcpdump -v shows one flow sample at rate 2048 and eight counter samples.
  const sflow = await decodeAll('ndpi-sflow.pcap');
  expect(sflow.counts).toMatchObject({ datagrams: 9, refused: 0, records: 1, otherSamples: 8 });
  expect(sflow.sums).toEqual(new Map([['172.21.32.254 172.21.32.241 0 0 1', '60 1']]));
  expect(sflow.rates).toEqual(new Set([2048]));
  // This capture has data without a template; tshark finds none either.
  const netflow = await decodeAll('ndpi-netflowv9.pcap');
  expect(netflow.counts).toMatchObject({ datagrams: 10, refused: 0, records: 0 });
  expect(netflow.waiting.map(({ template }) => template).sort()).toEqual([258, 259, 260, 262, 263]);
});
