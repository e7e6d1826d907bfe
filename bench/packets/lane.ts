/**
 * One way to count the flows of a capture, in a process of its own: `lane.ts WAY FILE [MEMORY]`.
 * Prints CPU seconds without the start of the process, the largest resident memory, and the answer.
 *
 * - walk: records of the file
 * - parse: with addresses, ports and lengths
 * - table: `FlowMeter.addPackets` from the bytes on, and the list of the largest
 * - decoded: the same by `HeaderDecoder` and `FlowMeter.add`, which decode in JavaScript
 * - sketch: the library's CountMinSketch, which estimates and has no list
 * - map: a Map with text as keys, as one would write it first
 * - heavy: the library's HeavyHitters with a threshold of 0.1 %
 */

import { closeSync, openSync, readSync } from 'node:fs';
import {
  CaptureDecoder,
  HeaderBatch,
  HeaderDecoder,
  KEY_WORDS,
  PacketBatch,
  STATUS,
} from '@bloomery/packets/capture';
import { FlowMeter } from '@bloomery/packets/flows';
import { CountMinSketch, HeavyHitters } from 'bloomery';

const [way, path, memory] = process.argv.slice(2);
const CHUNK = 1 << 18;
const BATCH = 2048;

type Visit = (batch: PacketBatch, headers: HeaderBatch) => void;

function read(visit: Visit | null, parse: boolean, buffer: Uint8Array = new Uint8Array(CHUNK)): number {
  const descriptor = openSync(path, 'r');
  const [batch, headers] = [new PacketBatch(BATCH), new HeaderBatch(BATCH)];
  const [decoder, header] = [new CaptureDecoder(), new HeaderDecoder()];
  for (;;) {
    const length = readSync(descriptor, buffer, 0, buffer.length, null);
    if (length === 0) break;
    decoder.push(buffer.subarray(0, length));
    while (decoder.next(batch)) {
      if (parse) header.decode(batch, headers);
      visit?.(batch, headers);
    }
  }
  closeSync(descriptor);
  return decoder.packets;
}

function countByMap(): { largest: number[]; flows: number } {
  const flows = new Map<string, { bytes: number; packets: number }>();
  read((_, { status, version, keys, ipLength, count }) => {
    for (let row = 0; row < count; row++) {
      if (status[row] !== STATUS.decoded) continue;
      const at = row * KEY_WORDS;
      const key = keys.subarray(at, at + (version[row] === 4 ? 4 : 10)).join(' ');
      const flow = flows.get(key);
      if (flow === undefined) flows.set(key, { bytes: ipLength[row], packets: 1 });
      else {
        flow.bytes += ipLength[row];
        flow.packets++;
      }
    }
  }, true);
  const largest = [...flows.values()].map(({ bytes }) => bytes).sort((a, b) => b - a);
  return { largest: largest.slice(0, 100), flows: flows.size };
}

function countByTable(way: 'bytes' | 'decoded'): { largest: number[]; flows: number; exact: boolean } {
  const meter = new FlowMeter({
    secret: new Uint8Array(16).fill(7),
    memory: memory === undefined ? undefined : Number(memory),
  });
  if (way === 'decoded') read((batch, headers) => meter.add(batch, headers), true);
  else {
    const header = new HeaderDecoder();
    read((batch) => meter.addPackets(batch, header), false, meter.chunk!);
  }
  const { top, flows, exact } = meter.report({ top: 100 });
  return { largest: top.map(({ bytes }) => bytes.atMost), flows, exact };
}

function countByHeavyHitters(): { largest: number[]; flows: number } {
  const heavy = HeavyHitters.forThreshold({ threshold: 0.001 });
  readPacked((keys, amounts) => heavy.addMany(keys, amounts));
  const list = heavy.list();
  return { largest: list.slice(0, 100).map(({ count }) => count), flows: list.length };
}

function countBySketch(): object {
  const sketch = new CountMinSketch({ width: 65_536, depth: 4, update: 'conservative' });
  readPacked((keys, amounts) => sketch.addMany(keys, amounts));
  return { total: sketch.total };
}

interface PackedKeys {
  readonly bytes: Uint8Array;
  readonly offsets: Uint32Array;
}

/** Keys of IPv4 alone, packed: these ways are about speed. */
function readPacked(take: (keys: PackedKeys, amounts: number[]) => void): void {
  const packed = new Uint32Array(4 * BATCH);
  const offsets = Uint32Array.from({ length: BATCH + 1 }, (_, i) => 16 * i);
  const amounts = new Array<number>(BATCH).fill(0);
  read((_, { status, keys, ipLength, count }) => {
    let found = 0;
    for (let row = 0; row < count; row++) {
      if (status[row] !== STATUS.decoded) continue;
      packed.set(keys.subarray(row * KEY_WORDS, row * KEY_WORDS + 4), 4 * found);
      amounts[found++] = ipLength[row];
    }
    const bytes = new Uint8Array(packed.buffer, 0, 16 * found);
    take({ bytes, offsets: offsets.subarray(0, found + 1) }, amounts.slice(0, found));
  }, true);
}

const WAYS: Record<string, () => object> = {
  walk: () => ({ packets: read(null, false) }),
  parse: () => ({ packets: read(null, true) }),
  table: () => countByTable('bytes'),
  decoded: () => countByTable('decoded'),
  sketch: countBySketch,
  map: countByMap,
  heavy: countByHeavyHitters,
};

const start = process.cpuUsage();
const answer = WAYS[way]();
const { user, system } = process.cpuUsage(start);
console.log(
  JSON.stringify({ seconds: (user + system) / 1e6, rssMb: process.resourceUsage().maxRSS / 1000, ...answer }),
);
