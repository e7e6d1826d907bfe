/**
 * `npm run bench:loops`: the filter in the packet and the detector of loops. Rates of false alarms,
 * exact and measured, by size, bits per node and length of the path; the bytes that a path needs;
 * the hops that a loop costs; and processor time per packet. Rates and hops do not depend on the
 * machine. Times are processor time, medians of several rounds.
 */

import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { hashKey, PathFilter } from 'bloomery';
import { pathAlarmRate, planPath } from 'bloomery/math';
import {
  CaptureDecoder,
  CaptureWriter,
  HeaderBatch,
  HeaderDecoder,
  PacketBatch,
} from '../../packages/packets/dist/capture/index.js';
import { LoopDetector, PathShim } from '../../packages/packets/dist/loops/index.js';
import { Router, type RouterClock } from '../../packages/packets/dist/routers/index.js';

const { values: options } = parseArgs({
  options: {
    markdown: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    trials: { type: 'string', default: '20000' },
  },
});
const ROUNDS = Number(options.rounds);
const TRIALS = Number(options.trials);
const SHAPES = [
  [32, 2],
  [64, 4],
  [128, 6],
  [256, 6],
  [256, 8],
  [256, 12],
] as const;
const HOPS = [4, 8, 16, 32];
const cells = (...row: (string | number)[]) => `| ${row.join(' | ')} |`;

/** xorshift32: the same numbers in every run. */
let state = 0x2545f491;
function bits(): number {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return state >>> 0;
}

/** The number of paths of `TRIALS` whose alarm came within each length of `HOPS`. */
function measuredAlarms(m: number, k: number, repeats: number): number[] {
  const counts = HOPS.map(() => 0);
  for (let trial = 0; trial < TRIALS; trial++) {
    const filter = new PathFilter({ bits: m, hashes: k, repeats, salt: bits() >>> 16 });
    const { scheme } = filter;
    let hop = 1;
    while (hop <= 32 && !filter.visitHash({ scheme, low: bits(), high: bits() })) hop++;
    for (const [i, hops] of HOPS.entries()) if (hop <= hops) counts[i]++;
  }
  return counts;
}

let worst = 0;
/** Exact and measured rates in percent, and the largest deviation in sigmas so far. */
function alarmRows(repeats: number): string[] {
  return SHAPES.map(([m, k]) => {
    const measured = measuredAlarms(m, k, repeats);
    const row = HOPS.map((hops, i) => {
      const p = pathAlarmRate(m, k, hops, repeats);
      const sigma = Math.sqrt(TRIALS * p * (1 - p));
      // Fewer than five expected events are Poisson and not normal.
      if (TRIALS * p >= 5 && TRIALS * (1 - p) >= 5)
        worst = Math.max(worst, Math.abs(measured[i] - TRIALS * p) / sigma);
      return `${percent(p)} (${percent(measured[i] / TRIALS)})`;
    });
    return cells(`${m}, ${k}`, ...row);
  });
}

function percent(share: number): string {
  if (share === 0) return '0';
  return share < 1e-6 ? (100 * share).toExponential(1) : (100 * share).toPrecision(4);
}

/** Datagrams that a packet costs between routers that send it in a circle. */
function hopsOfLoop(length: number, repeats: number | null): number {
  let datagrams = 0;
  const routers = Array.from({ length }, (_, i) => {
    const shim =
      repeats === null
        ? {}
        : {
            shim: new PathShim({
              node: `r${i}`,
              bits: 128,
              hashes: 6,
              repeats,
              random: () => bits() / 2 ** 32,
            }),
          };
    return new Router({ clock: CLOCK, ...shim });
  });
  for (const [i, router] of routers.entries()) {
    router.attach({ send: () => {} });
    const send = (bytes: Uint8Array) => {
      datagrams++;
      routers[(i + 1) % length].receive(1, bytes);
    };
    router.attach({ send }, { isRouter: true });
    router.route('0.0.0.0/0', 1);
  }
  routers[0].receive(0, packetOf(1, 64));
  return datagrams;
}

const CLOCK: RouterClock = { monotonic: () => 0, after: () => () => {}, random: () => 0.5 };

/** A UDP packet of 60 bytes. */
function packetOf(id: number, ttl: number): Uint8Array {
  const packet = new Uint8Array(60).fill(id & 255, 28);
  packet.set([
    0x45,
    0,
    0,
    60,
    (id >> 8) & 255,
    id & 255,
    0,
    0,
    ttl,
    17,
    0,
    0,
    10,
    id >> 24,
    id >> 16,
    id >> 8,
    10,
    77,
    0,
    id,
  ]);
  return packet;
}

/** Median of the processor time of some rounds, in nanoseconds per piece of work. */
function nanoseconds(work: () => number): number {
  const times: number[] = [];
  for (let round = -1; round < ROUNDS; round++) {
    const start = process.cpuUsage();
    const count = work();
    const { user, system } = process.cpuUsage(start);
    if (round >= 0) times.push((1000 * (user + system)) / count);
  }
  return times.sort((a, b) => a - b)[times.length >> 1];
}

function visitTime(m: number, k: number): number {
  const nodes = Array.from({ length: 64 }, (_, i) => hashKey(`node ${i}`));
  return nanoseconds(() => {
    for (let round = 0; round < 4000; round++) {
      const filter = new PathFilter({ bits: m, hashes: k, repeats: 15, salt: round });
      for (const node of nodes) filter.visitHash(node);
    }
    return 4000 * nodes.length;
  });
}

function routerTime(withShim: boolean): number {
  const shim = new PathShim({ node: 'r', bits: 64, hashes: 4, random: () => 0.5 });
  const router = new Router({ clock: CLOCK, ...(withShim && { shim }) });
  router.attach({ send: () => {} });
  router.attach({ send: () => {} }, { isRouter: true });
  for (const prefix of ['10.0.0.0/8', '10.77.0.0/16', '0.0.0.0/0']) router.route(prefix, 1);
  const packet = packetOf(1, 255);
  return nanoseconds(() => {
    for (let i = 0; i < 200_000; i++) {
      packet[8] = 255;
      router.receive(0, packet);
    }
    return 200_000;
  });
}

/** A capture of this many packets, of which each hundredth loops until its TTL is used up. */
function captureOf(packets: number): Uint8Array {
  const writer = new CaptureWriter({ format: 'pcap' });
  const frame = new Uint8Array(74);
  frame.set([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]);
  for (let i = 0, id = 0; i < packets; id++) {
    const loops = id % 100 === 0;
    for (let ttl = 64; ttl > 0 && i < packets; ttl -= loops ? 2 : 64, i++) {
      frame.set(packetOf(id * 2_654_435, ttl), 14);
      writer.add({ seconds: Math.floor(i / 1e5), nanoseconds: (i % 1e5) * 1e4, bytes: frame });
    }
  }
  return writer.take();
}

function detectorTime(capture: Uint8Array, detects: boolean): number {
  const batch = new PacketBatch();
  const headers = new HeaderBatch(batch.capacity);
  return nanoseconds(() => {
    const [decoder, headerDecoder] = [new CaptureDecoder(), new HeaderDecoder()];
    const detector = new LoopDetector();
    decoder.push(capture);
    while (decoder.next(batch)) {
      headerDecoder.decode(batch, headers);
      if (detects) detector.take(batch, headers);
    }
    decoder.end();
    return decoder.packets;
  });
}

const heads = cells('m, k', ...HOPS.map((hops) => `${hops} hops`));
const line = `|---|${'---:|'.repeat(HOPS.length)}`;
const rateRows = [1, 2].map((repeats) => [
  `${repeats === 1 ? 'Alarm at the first' : 'Alarm after the second'} node in a row that changes nothing (r = ${repeats}):`,
  '',
  heads,
  line,
  ...alarmRows(repeats),
  '',
]);
const planRows = [4, 8, 16, 32, 64].map((hops) => {
  const plans = [1, 2, 3].map((repeats) => planPath({ hops, falseAlarmRate: 1e-3, repeats }));
  return cells(hops, ...plans.map(({ bits: m, hashes }) => `${m / 8} (k = ${hashes})`));
});
const loopRows = [2, 3, 5, 10].map((length) =>
  cells(length, hopsOfLoop(length, null), hopsOfLoop(length, 1), hopsOfLoop(length, 2)),
);
const capture = captureOf(1_000_000);
const [walk, whole] = [detectorTime(capture, false), detectorTime(capture, true)];
const speed = (ns: number) => `${ns.toFixed(0)} | ${(1000 / ns).toFixed(2)}`;
const text = [
  '# Loops',
  '',
  'Written by `npm run bench:loops -- --markdown results/loops.md`.',
  '',
  '## False alarms on a path without a loop, in percent',
  '',
  `Exact (\`pathAlarmRate\`), and in brackets measured with \`PathFilter\` on ${TRIALS.toLocaleString('en')} paths of random nodes. m is`,
  'the size of the filter in bits, k the number of bits that each node sets.',
  '',
  ...rateRows.flat(),
  `The largest deviation of a measured rate is ${worst.toFixed(1)} sigma (of rates with at least five expected events).`,
  '',
  '## Bytes of filter for a rate of 0.1 %',
  '',
  'The header takes 8 more.',
  '',
  cells('hops', 'r = 1', 'r = 2', 'r = 3'),
  '|---:|---:|---:|---:|',
  ...planRows,
  '',
  '## Datagrams that one packet costs in a loop',
  '',
  'A packet with TTL 64 between routers that send it in a circle, m = 128, k = 6.',
  '',
  cells('routers in the loop', 'TTL alone', 'filter, r = 1', 'filter, r = 2'),
  '|---:|---:|---:|---:|',
  ...loopRows,
  '',
  '## Processor time',
  '',
  `Medians of ${ROUNDS} rounds; load of the machine ${loadavg()[0].toFixed(1)}. The capture has a million packets of 74 bytes, of which a`,
  'quarter are sightings of looping ones; reading it from a disk is not part of it.',
  '',
  cells('work', 'ns per packet', 'millions per second'),
  '|---|---:|---:|',
  ...SHAPES.slice(1, 5).map(
    ([m, k]) => `| visit of a filter, m = ${m}, k = ${k} | ${speed(visitTime(m, k))} |`,
  ),
  `| router, without header | ${speed(routerTime(false))} |`,
  `| router, with a new header | ${speed(routerTime(true))} |`,
  `| capture: packets and headers | ${speed(walk)} |`,
  `| capture: the same with \`LoopDetector\` | ${speed(whole)} |`,
].join('\n');
console.log(text);
if (options.markdown !== undefined) writeFileSync(options.markdown, `${text}\n`);
