/**
 * `npm run bench:heavy-keeper`: the list of the largest flows by HeavyKeeper (Yang and others,
 * USENIX ATC 2018) and by `FlowMeter`, in the same memory, on the same packets in three orders. The
 * measure is packets, which HeavyKeeper counts. Accuracy does not depend on the machine, and times
 * are not taken.
 *
 * HeavyKeeper as we read it: d rows of buckets, each a fingerprint and a count. A packet whose
 * fingerprint is in its bucket adds one. In an empty bucket it begins with one. Otherwise it lowers
 * the count with probability b^-count, and takes the bucket when that reaches 0. A flow's estimate
 * is its largest count. A heap keeps the N largest. Here b = 1.08, d = 2, 16 bits of fingerprint,
 * and the heap is a map of N flows, which costs time only.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  CaptureDecoder,
  HeaderBatch,
  HeaderDecoder,
  KEY_WORDS,
  PacketBatch,
} from '@bloomery/packets/capture';
import { FlowMeter } from '@bloomery/packets/flows';
import { CAPTURE_ORDERS, writeZipfCapture } from '../../packages/testkit/src/captures/zipf-capture.ts';
import { asMarkdown } from '../shared/report.ts';

const { values: options } = parseArgs({
  options: { packets: { type: 'string', default: '1000000' }, markdown: { type: 'string' } },
});
const PACKETS = Number(options.packets);
const TOP = 100;
const BUCKET_BYTES = 6;
const DECAY = 1.08;
const ROWS = 2;
/** Bytes of both, and the width of the filter of `FlowMeter`, which leaves room for entries. */
const MEMORIES = [
  [200_000, 1024],
  [500_000, 4096],
  [1_500_000, 65_536],
] as const;

/** Mixes 64 bits of an address pair and ports into 32. */
function mix(a: number, b: number, c: number, seed: number): number {
  let h = seed;
  for (const word of [a, b, c]) {
    h = Math.imul(h ^ word, 0x85ebca6b);
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
    h ^= h >>> 16;
  }
  return h >>> 0;
}

class HeavyKeeper {
  readonly #width: number;
  readonly #prints: Uint16Array;
  readonly #counts: Uint32Array;
  readonly #top = new Map<string, number>();
  #least = 0;
  #state = 0x2545f491;

  constructor(bytes: number) {
    // The heap of the paper: a key of 13 bytes and a count for each flow.
    this.#width = Math.floor((bytes - TOP * 17) / (ROWS * BUCKET_BYTES));
    this.#prints = new Uint16Array(ROWS * this.#width);
    this.#counts = new Uint32Array(ROWS * this.#width);
  }

  add(key: string, a: number, b: number, c: number): void {
    const print = mix(a, b, c, 99) & 0xffff;
    let estimate = 0;
    for (let row = 0; row < ROWS; row++) {
      const at = row * this.#width + (mix(a, b, c, row + 1) % this.#width);
      if (this.#counts[at] === 0 || this.#prints[at] === print) {
        this.#prints[at] = print;
        estimate = Math.max(estimate, ++this.#counts[at]);
      } else if (this.#random() < DECAY ** -this.#counts[at] && --this.#counts[at] === 0) {
        this.#prints[at] = print;
        this.#counts[at] = 1;
        estimate = Math.max(estimate, 1);
      }
    }
    if (this.#top.has(key)) this.#top.set(key, Math.max(estimate, this.#top.get(key)!));
    else if (this.#top.size < TOP) this.#top.set(key, estimate);
    else if (estimate > this.#least) this.#replace(key, estimate);
  }

  list(): Map<string, number> {
    return this.#top;
  }

  #replace(key: string, estimate: number): void {
    const [[smallest]] = [...this.#top].sort(([, x], [, y]) => x - y);
    this.#top.delete(smallest);
    this.#top.set(key, estimate);
    this.#least = Math.min(...this.#top.values());
  }

  #random(): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) / 2 ** 32;
  }
}

const folder = mkdtempSync(join(tmpdir(), 'bloomery-heavy-keeper-'));
const rows: string[][] = [];
try {
  for (const order of CAPTURE_ORDERS) {
    const path = join(folder, 'capture.pcap');
    writeZipfCapture({ path, packets: PACKETS, flows: PACKETS / 10, order, seed: 2 });
    for (const [bytes, width] of MEMORIES) rows.push(...compare(readFileSync(path), order, bytes, width));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function compare(capture: Uint8Array, order: string, bytes: number, width: number): string[][] {
  const keeper = new HeavyKeeper(bytes);
  const meter = new FlowMeter({
    secret: new Uint8Array(16).fill(1),
    memory: bytes,
    width,
    measure: 'packets',
  });
  const exact = new Map<string, number>();
  const [batch, headers] = [new PacketBatch(4096), new HeaderBatch(4096)];
  const [reader, decoder] = [new CaptureDecoder(), new HeaderDecoder()];
  reader.push(capture);
  while (reader.next(batch)) {
    decoder.decode(batch, headers);
    meter.add(batch, headers);
    for (let row = 0; row < headers.count; row++) {
      const [a, b, c] = headers.keys.subarray(row * KEY_WORDS, row * KEY_WORDS + 3);
      const key = `${a} ${b} ${c}`;
      exact.set(key, (exact.get(key) ?? 0) + 1);
      keeper.add(key, a, b, c);
    }
  }
  const word = (address: string | null) =>
    address!.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  const ours = new Map(
    meter
      .report({ top: TOP })
      .top.map(({ flow, packets }) => [
        `${word(flow.source)} ${word(flow.destination)} ${flow.sourcePort! * 65_536 + flow.destinationPort!}`,
        packets.atMost,
      ]),
  );
  const truth = [...exact].sort(([, x], [, y]) => y - x).slice(0, TOP);
  const row = (name: string, list: ReadonlyMap<string, number>, bounds: string) => {
    const least = truth[TOP - 1][1];
    const right = [...list.keys()].filter((key) => exact.get(key)! >= least).length;
    const errors = truth.filter(([key]) => list.has(key)).map(([key, count]) => list.get(key)! / count - 1);
    const mean = errors.reduce((sum, error) => sum + Math.abs(error), 0) / errors.length;
    const under = errors.filter((error) => error < 0).length;
    return [order, `${bytes / 1000} kB`, name, `${right}`, percent(mean), `${under}`, bounds];
  };
  const { completeFrom } = meter.report();
  return [
    row('HeavyKeeper', keeper.list(), 'none'),
    row('FlowMeter', ours, completeFrom === 0 ? 'exact' : `complete from ${completeFrom} packets`),
  ];
}

function percent(share: number): string {
  return `${(100 * share).toFixed(3)} %`;
}

const table = asMarkdown({
  title: `The ${TOP} largest flows of ${PACKETS / 1e6} M packets`,
  head: ['order', 'memory', 'by', `of the ${TOP} largest`, 'mean error', 'under-counted', 'promise'],
  rows,
  notes: ['A flow counts as one of the largest if it has as many packets as the last of them.'],
});
const page = `# HeavyKeeper and FlowMeter

Written by \`npm --prefix bench run bench:heavy-keeper\`. Accuracy alone: the numbers do not depend on the machine.

${table}
`;
console.log(page);
if (options.markdown) writeFileSync(options.markdown, page);
