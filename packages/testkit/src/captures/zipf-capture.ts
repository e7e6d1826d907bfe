/**
 * Writes captures of synthetic traffic: Ethernet, IPv4 (and IPv6), TCP and UDP, a snap length of 96
 * bytes, flows by Zipf's law with s = 1, the same packets in three orders. All of it follows from
 * the seed.
 *
 * - mixed: packet by packet at random. This flatters conservative update, because large flows come
 *   first and often.
 * - contiguous: each flow as a whole, the flows in random order.
 * - elephants-last: each flow as a whole, the smallest first.
 *
 * Real traffic lies between them.
 */

import { closeSync, openSync, writeSync } from 'node:fs';

export const CAPTURE_ORDERS = ['mixed', 'contiguous', 'elephants-last'] as const;
export type CaptureOrder = (typeof CAPTURE_ORDERS)[number];

export interface ZipfCaptureOptions {
  readonly path: string;
  readonly packets: number;
  /** Flows to draw from; not all of them occur. */
  readonly flows: number;
  readonly order: CaptureOrder;
  readonly seed: number;
  /** Makes every fifth flow one of IPv6. Default false. */
  readonly ipv6?: boolean;
}

/** Flows above this number occur in the order `mixed` only. */
const MOST_COUNTED = 2 ** 26;
const SNAP = 96;
const CHUNK = 1 << 20;

/** Writes the file. Returns the number of flows that occur, NaN if there are too many to count. */
export function writeZipfCapture(options: ZipfCaptureOptions): number {
  const { path, packets, flows, order, seed, ipv6 = false } = options;
  const random = generator(seed);
  const drawn = new Uint32Array(packets);
  const counts = new Uint32Array(flows <= MOST_COUNTED ? flows : 0);
  for (let i = 0; i < packets; i++) {
    drawn[i] = Math.floor(Math.exp(random() * Math.log(flows)));
    if (counts.length > 0) counts[drawn[i]]++;
  }
  if (order !== 'mixed') fillByFlow(drawn, counts, order, random);
  const file = new CaptureFile(path);
  for (let i = 0; i < packets; i++) file.write(drawn[i], i, ipv6 && drawn[i] % 5 === 4);
  file.close();
  if (counts.length === 0) return Number.NaN;
  return counts.reduce((sum, count) => sum + (count > 0 ? 1 : 0), 0);
}

/** Puts the packets of each flow together. */
function fillByFlow(
  drawn: Uint32Array,
  counts: Uint32Array,
  order: CaptureOrder,
  random: () => number,
): void {
  const sequence = Uint32Array.from(counts, (_, flow) => flow);
  if (order === 'elephants-last') sequence.reverse();
  else {
    for (let i = sequence.length - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1));
      [sequence[i], sequence[j]] = [sequence[j], sequence[i]];
    }
  }
  let at = 0;
  for (const flow of sequence) {
    drawn.fill(flow, at, at + counts[flow]);
    at += counts[flow];
  }
}

class CaptureFile {
  readonly #descriptor: number;
  readonly #bytes = new Uint8Array(CHUNK);
  readonly #view = new DataView(this.#bytes.buffer);
  #at = 0;

  constructor(path: string) {
    this.#descriptor = openSync(path, 'w');
    const head = [0xa1b2c3d4, 0x00040002, 0, 0, SNAP, 1];
    for (const [i, word] of head.entries()) this.#view.setUint32(4 * i, word, true);
    this.#at = 24;
  }

  /** Writes packet number i, of this flow. Its size depends on both. */
  write(flow: number, i: number, isIpv6: boolean): void {
    if (this.#at + 16 + SNAP > CHUNK) this.#flush();
    const isUdp = flow % 8 === 7;
    const h = scramble(flow);
    const ipBytes = isUdp ? 60 + (h % 400) : (i ^ h) % 3 === 0 ? 1500 : 60 + (h % 300);
    const wire = ipBytes + 14;
    const captured = Math.min(wire, SNAP);
    const view = this.#view;
    const at = this.#at;
    view.setUint32(at, 1_700_000_000 + Math.floor(i / 100_000), true);
    view.setUint32(at + 4, (i % 100_000) * 10, true);
    view.setUint32(at + 8, captured, true);
    view.setUint32(at + 12, wire, true);
    this.#bytes.fill(0, at + 16, at + 16 + captured);
    view.setUint16(at + 28, isIpv6 ? 0x86dd : 0x0800);
    const payload = isIpv6
      ? this.#writeIpv6(at + 30, h, ipBytes, isUdp)
      : this.#writeIpv4(at + 30, h, ipBytes, isUdp, i);
    view.setUint16(payload, 1024 + (flow % 60_000));
    view.setUint16(payload + 2, 1 + (flow % 1000));
    if (isUdp) view.setUint16(payload + 4, at + 30 + ipBytes - payload);
    else view.setUint16(payload + 12, 0x5010);
    this.#at += 16 + captured;
  }

  /** Writes the header; returns the place behind it. */
  #writeIpv4(ip: number, h: number, ipBytes: number, isUdp: boolean, id: number): number {
    const view = this.#view;
    view.setUint16(ip, 0x4500);
    view.setUint16(ip + 2, ipBytes);
    view.setUint16(ip + 4, id & 0xffff);
    view.setUint8(ip + 8, 64);
    view.setUint8(ip + 9, isUdp ? 17 : 6);
    view.setUint32(ip + 12, 0x0a000000 | (h & 0xffffff));
    view.setUint32(ip + 16, 0xc0a80000 | (scramble(h) & 0xffff));
    return ip + 20;
  }

  #writeIpv6(ip: number, h: number, ipBytes: number, isUdp: boolean): number {
    const view = this.#view;
    view.setUint16(ip, 0x6000);
    view.setUint16(ip + 4, ipBytes - 40);
    view.setUint8(ip + 6, isUdp ? 17 : 6);
    view.setUint8(ip + 7, 64);
    view.setUint32(ip + 8, 0x20010db8);
    view.setUint32(ip + 20, h);
    view.setUint32(ip + 24, 0x20010db8);
    view.setUint32(ip + 36, scramble(h) & 0xffff);
    return ip + 40;
  }

  close(): void {
    this.#flush();
    closeSync(this.#descriptor);
  }

  #flush(): void {
    writeSync(this.#descriptor, this.#bytes, 0, this.#at);
    this.#at = 0;
  }
}

/** A bijection of 32-bit numbers, so that no two flows share their addresses and ports. */
function scramble(number: number): number {
  let h = Math.imul(number ^ (number >>> 16), 0x21f0aaad);
  h = Math.imul(h ^ (h >>> 15), 0x735a2d97);
  return (h ^ (h >>> 15)) >>> 0;
}

/** Uniform numbers from 0 to 1: xorshift32. */
function generator(seed: number): () => number {
  let state = scramble(seed) | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
