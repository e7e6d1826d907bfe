/** Encoding and decoding by our code beside the sums that they are made of, in one process. */

import { randomFillSync } from 'node:crypto';
import {
  type BlockKernel,
  codeKey,
  SymbolCode,
  SymbolDecoder,
  SymbolEncoder,
} from '@bloomery/delivery/codes';
import { BlockProgram } from '../../packages/delivery/dist/codes/kernel/block-memory.js';
import { makeBlocks } from '../../packages/delivery/dist/codes/kernel/make-blocks.js';
import { median } from '../shared/statistics.ts';

export const BLOCK_BYTES = 16384;

/** Megabytes per second of processor time, and what they were made of. */
export interface CodeRates {
  readonly blocks: number;
  readonly kernel: 'wasm' | 'javascript';
  readonly meanDegree: number;
  /** Sums of one block at a time, in the order of a random program. */
  readonly sums: number;
  readonly encode: number;
  readonly decode: number;
  /** Both as shares of the sums of the same round, divided by the mean degree. */
  readonly encodeShare: number;
  readonly decodeShare: number;
  /** Sums of a decoding, for each block. */
  readonly sumsPerBlock: number;
  /** Symbols of a decoding beyond the blocks, as a share. */
  readonly overhead: number;
}

export function cpuSeconds(work: () => void): number {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
}

/** Medians of rounds; in each round everything is measured in turn. */
export function measureCode(blocks: number, kernel: BlockKernel, rounds: number): CodeRates {
  const bytes = blocks * BLOCK_BYTES;
  const content = randomFillSync(new Uint8Array(bytes));
  const taken: { sums: number; encode: number; decode: number; perBlock: number; overhead: number }[] = [];
  let meanDegree = 0;
  let used: 'wasm' | 'javascript' = 'wasm';
  for (let round = 0; round <= rounds; round++) {
    const digest = randomFillSync(new Uint8Array(32));
    const code = new SymbolCode({ bytes, blockBytes: BLOCK_BYTES, key: codeKey(digest) });
    meanDegree = code.meanDegree;
    const sums = sumRate(blocks, kernel);
    const encoder = new SymbolEncoder(code, content, { kernel });
    used = encoder.kernel;
    const symbols: { ids: number[]; payload: Uint8Array }[] = [];
    const count = Math.ceil(1.02 * blocks);
    // Memory that was never touched would make the system find pages while we measure.
    for (let i = 0; i < count + 50; i++)
      symbols.push({ ids: [blocks + i], payload: new Uint8Array(BLOCK_BYTES).fill(1) });
    const encode = cpuSeconds(() => {
      for (let i = 0; i < count; i++) encoder.symbol(blocks + i, symbols[i].payload);
    });
    for (let i = count; i < count + 50; i++) encoder.symbol(blocks + i, symbols[i].payload);
    let decoder = new SymbolDecoder(code, { kernel });
    let next = 0;
    const decode = cpuSeconds(() => {
      decoder = new SymbolDecoder(code, { kernel });
      // As a receiver does that asks for 1.5 % more than it needs, and then for those that lack.
      for (let more = Math.ceil(1.015 * blocks); more > 0; more = decoder.solve())
        for (let i = 0; i < more; i++) decoder.add(symbols[next++]);
    });
    if (Buffer.compare(decoder.content(), content) !== 0)
      throw new Error(`Cannot decode: expected the content, got other bytes (${blocks} blocks)`);
    // The first round compiles.
    if (round > 0)
      taken.push({
        sums,
        encode: (count * BLOCK_BYTES) / 1e6 / encode,
        decode: bytes / 1e6 / decode,
        perBlock: decoder.sums / blocks,
        overhead: next / blocks - 1,
      });
  }
  const middle = (name: keyof (typeof taken)[0]) => median(taken.map((one) => one[name]));
  const share = (name: 'encode' | 'decode') =>
    median(taken.map((one) => (one[name] * meanDegree) / one.sums));
  return {
    blocks,
    kernel: used,
    meanDegree,
    sums: middle('sums'),
    encode: middle('encode'),
    decode: middle('decode'),
    encodeShare: share('encode'),
    decodeShare: share('decode'),
    sumsPerBlock: middle('perBlock'),
    overhead: middle('overhead'),
  };
}

/** Megabytes per second of `target ^= source`, blocks of as much memory as the code takes. */
function sumRate(blocks: number, kernel: BlockKernel): number {
  const memory = makeBlocks(BLOCK_BYTES, blocks, kernel);
  for (let slot = 0; slot < blocks; slot++) memory.slot(slot).fill(slot);
  const program = new BlockProgram(memory);
  const count = 4 * blocks;
  const seconds = cpuSeconds(() => {
    for (let i = 0; i < count; i++) {
      // Steps by a large odd number visit all blocks, and no two after each other are neighbours.
      program.target((i * 7919 + 1) % blocks);
      program.source((i * 104_729) % blocks);
    }
    program.finish();
  });
  return (count * BLOCK_BYTES) / 1e6 / seconds;
}

export interface Overheads {
  readonly blocks: number;
  readonly trials: number;
  /** Symbols beyond the blocks that were needed, sorted. */
  readonly extra: readonly number[];
}

/** The least number of coded symbols that suffice, in codes of different keys. */
export function measureOverheads(blocks: number, trials: number): Overheads {
  const extra: number[] = [];
  for (let trial = 0; trial < trials; trial++) {
    const digest = Buffer.alloc(32, `trial ${trial} `);
    const code = new SymbolCode({ bytes: 16 * blocks, blockBytes: 16, key: codeKey(digest, trial) });
    const decoder = new SymbolDecoder(code, { mostSymbols: 2 * blocks + 100 });
    const payload = new Uint8Array(16);
    let id = blocks;
    // `solve` returns the number without which it cannot succeed, so this stops at the least.
    for (let lacking = decoder.solve(); lacking > 0; lacking = decoder.solve())
      for (let i = 0; i < lacking; i++) decoder.add({ ids: [id++], payload });
    extra.push(decoder.received - blocks);
  }
  return { blocks, trials, extra: extra.sort((a, b) => a - b) };
}
