/**
 * Fragments, where we and nfpcapd differ on purpose. Each row pins what both say, so that a change
 * on either side is seen.
 *
 * nfpcapd reassembles IPv4. A whole datagram counts as one packet, with one IP header, so its bytes
 * are not those that were sent. A datagram whose fragments come in another order, or of which one
 * is missing, does not count at all. In IPv6 it does not look behind the fragment header: the
 * protocol is 44, without ports. We count every packet with its own bytes, and `joinFragments`
 * gives later fragments the ports of the first, if that came before.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  CaptureDecoder,
  CaptureWriter,
  flowAt,
  HeaderBatch,
  HeaderDecoder,
  PacketBatch,
} from '../../src/capture/index.ts';
import { ethernet, fragmentHeader, ipv4, ipv6, join, udp } from './build-packet.ts';
import { nfdumpSums } from './flow-sums.ts';

const FIRST = udp(1111, 53, new Uint8Array(16));
const part4 = (fragmentOffset: number, moreFragments: boolean, payload: Uint8Array) =>
  join(ethernet(0x0800), ipv4({ protocol: 17, id: 7, fragmentOffset, moreFragments }, payload));
const part6 = (offset: number, more: boolean, payload: Uint8Array) =>
  join(ethernet(0x86dd), ipv6(44, join(fragmentHeader(17, offset, more, 5), payload)));
const START4 = part4(0, true, FIRST);
const REST4 = part4(3, false, new Uint8Array(24));
const START6 = part6(0, true, FIRST);
const REST6 = part6(3, false, new Uint8Array(24));

const PORTS4 = '10.0.0.1 10.0.0.2 1111 53 17';
const NONE4 = '10.0.0.1 10.0.0.2 0 0 17';
const PORTS6 = '2001:db8::1 2001:db8::2 1111 53 17';
const NONE6 = '2001:db8::1 2001:db8::2 0 0 17';
const HEADER6 = '2001:db8::1 2001:db8::2 0 0 44';

type Sums = Readonly<Record<string, string>>;
/** Sums are bytes and packets of a flow. */
const ROWS: readonly (readonly [
  name: string,
  packets: Uint8Array[],
  ours: Sums,
  joined: Sums,
  theirs: Sums,
])[] = [
  [
    'a datagram in order',
    [START4, REST4],
    { [PORTS4]: '44 1', [NONE4]: '44 1' },
    { [PORTS4]: '88 2' },
    { [PORTS4]: '68 1' },
  ],
  [
    'a datagram in reverse',
    [REST4, START4],
    { [PORTS4]: '44 1', [NONE4]: '44 1' },
    { [PORTS4]: '44 1', [NONE4]: '44 1' },
    {},
  ],
  ['a datagram without its first part', [REST4], { [NONE4]: '44 1' }, { [NONE4]: '44 1' }, {}],
  [
    'IPv6 in order',
    [START6, REST6],
    { [PORTS6]: '72 1', [NONE6]: '72 1' },
    { [PORTS6]: '144 2' },
    { [HEADER6]: '144 2' },
  ],
  [
    'an atomic fragment of IPv6',
    [part6(0, false, FIRST)],
    { [PORTS6]: '72 1' },
    { [PORTS6]: '72 1' },
    { [HEADER6]: '72 1' },
  ],
];

test.for(ROWS)('%s: what we count, and what nfpcapd counts', ([, packets, ours, joined, theirs]) => {
  const folder = mkdtempSync(joinPath(tmpdir(), 'bloomery-fragments-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const writer = new CaptureWriter({ format: 'pcap' });
  for (const [i, bytes] of packets.entries())
    writer.add({ seconds: 1_700_000_000 + i, nanoseconds: 0, bytes });
  const capture = writer.take();
  expect(Object.fromEntries(sumsOf(capture, false))).toEqual(ours);
  expect(Object.fromEntries(sumsOf(capture, true))).toEqual(joined);
  const path = joinPath(folder, 'fragments.pcap');
  writeFileSync(path, capture);
  const out = mkdtempSync(joinPath(folder, 'out-'));
  expect(spawnSync('nfpcapd', ['-r', path, '-w', out]).status).toBe(0);
  expect(Object.fromEntries(nfdumpSums(out))).toEqual(theirs);
});

function sumsOf(capture: Uint8Array, joinFragments: boolean): Map<string, string> {
  const sums = new Map<string, string>();
  const [batch, headers] = [new PacketBatch(8), new HeaderBatch(8)];
  const [reader, decoder] = [new CaptureDecoder(), new HeaderDecoder({ joinFragments })];
  reader.push(capture);
  while (reader.next(batch)) {
    decoder.decode(batch, headers);
    for (let row = 0; row < headers.count; row++) {
      const { source, destination, sourcePort, destinationPort, protocol } = flowAt(headers, row);
      const flow = [source, destination, sourcePort, destinationPort, protocol].join(' ');
      const [bytes, packets] = (sums.get(flow) ?? '0 0').split(' ').map(Number);
      sums.set(flow, `${bytes + headers.ipLength[row]} ${packets + 1}`);
    }
  }
  return sums;
}
