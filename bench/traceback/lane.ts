/**
 * One way through a capture, in a process of its own: `lane.ts WAY FILE [FOLDER]`. Prints CPU
 * seconds without the start of the process, and the largest resident memory.
 *
 * - walk: records of the file
 * - parse: with headers
 * - packets: digests of packets, tables and journal on disk, without the sources
 * - collect: the whole collector, as in `bloomery digestd`: digests of packets and sources, tables
 *   and journal on disk, a flush twice a second
 * - changes: the same, and the search for NAT and fragments
 */

import { closeSync, openSync, readSync } from 'node:fs';
import { CaptureDecoder, HeaderBatch, HeaderDecoder, PacketBatch } from '@bloomery/packets/capture';
import { Collector } from '@bloomery/packets/traceback';
import { SecretKey } from 'bloomery';
import { PacketDigester } from '../../packages/packets/dist/traceback/digests/packet-digester.js';
import { TableStore } from '../../packages/packets/dist/traceback/store/table-store.js';
import { tableShape } from '../../packages/packets/dist/traceback/tables/digest-table.js';

const [way, path, folder] = process.argv.slice(2);
const CHUNK = 1 << 18;
const FLUSH_MS = 500;

const KEY = new Uint8Array(16).fill(7);

const batch = new PacketBatch();
const headers = new HeaderBatch(batch.capacity);
const decoder = new CaptureDecoder();
const headerDecoder = new HeaderDecoder();
const collector =
  way === 'collect' || way === 'changes'
    ? Collector.open({
        folder,
        key: KEY,
        changes: way === 'changes',
        budgetBytes: 4e9,
      })
    : null;
const digester = new PacketDigester({ key: KEY });
const store =
  way === 'packets'
    ? TableStore.open({
        folder,
        kind: 'packets',
        key: new SecretKey(KEY),
        payloadBytes: 44,
        shape: tableShape(),
        spanS: 60,
        budget: { bytes: 4e9, seconds: 86_400 },
      })
    : null;

function takePackets(into: TableStore): void {
  headerDecoder.decode(batch, headers);
  for (const { hashes, times } of digester.digest(batch, headers)) into.add(hashes.words, times);
}

let flushed = performance.now();
const before = process.cpuUsage();
const descriptor = openSync(path, 'r');
const buffer = new Uint8Array(CHUNK);
for (;;) {
  const length = readSync(descriptor, buffer, 0, CHUNK, null);
  if (length === 0) break;
  decoder.push(buffer.subarray(0, length));
  while (decoder.next(batch)) {
    if (collector !== null) collector.take(batch);
    else if (store !== null) takePackets(store);
    else if (way === 'parse') headerDecoder.decode(batch, headers);
  }
  if (performance.now() - flushed >= FLUSH_MS) {
    collector?.flush();
    store?.flush();
    flushed = performance.now();
  }
}
closeSync(descriptor);
const status = collector?.status;
collector?.close();
store?.close();
const { user, system } = process.cpuUsage(before);
const rssMb = process.resourceUsage().maxRSS / 1000;
console.log(JSON.stringify({ seconds: (user + system) / 1e6, rssMb, packets: decoder.packets, status }));
