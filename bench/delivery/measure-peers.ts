/**
 * The fountain codes of npm that run. raptorq 1.7.24 has neither "main" nor "exports", and its file
 * is an ES module without saying so, so it is copied under a name that says it.
 */

import { randomFillSync } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { codeKey, SymbolCode, SymbolDecoder, SymbolEncoder } from '@bloomery/delivery/codes';
import { createDecoder, createEncoder } from 'luby-transform';
import { BLOCK_BYTES, cpuSeconds } from './measure-code.ts';

export interface PeerRates {
  readonly name: string;
  readonly blocks: number;
  readonly blockBytes: number;
  readonly what: string;
  readonly encode: number;
  readonly decode: number;
  readonly overhead: number;
}

/** The parts of raptorq that are used here. */
interface RaptorQ {
  initSync(module: Uint8Array): unknown;
  readonly Encoder: {
    with_defaults(data: Uint8Array, bytes: number): { encode(repair: number): Uint8Array[]; free(): void };
  };
  readonly Decoder: {
    with_defaults(
      length: bigint,
      bytes: number,
    ): { decode(packet: Uint8Array): Uint8Array | undefined; free(): void };
  };
}

async function loadRaptorQ(): Promise<RaptorQ> {
  const script = createRequire(import.meta.url).resolve('raptorq/raptorq.js');
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-raptorq-'));
  const copy = join(folder, 'raptorq.mjs');
  copyFileSync(script, copy);
  const module = (await import(pathToFileURL(copy).href)) as RaptorQ;
  module.initSync(readFileSync(script.replace(/\.js$/, '_bg.wasm')));
  rmSync(folder, { recursive: true });
  return module;
}

/** A fifth of the blocks is lost, and coded symbols take their place. */
const LOST = 5;

/** raptorq: all blocks, and 30 % of repair packets, of which it is given as many as it takes. */
export async function measureRaptorQ(blocks: number): Promise<PeerRates> {
  const { Encoder, Decoder } = await loadRaptorQ();
  const content = randomFillSync(new Uint8Array(blocks * BLOCK_BYTES));
  let packets: Uint8Array[] = [];
  const repair = Math.ceil(0.3 * blocks);
  const encode = cpuSeconds(() => {
    const encoder = Encoder.with_defaults(content, BLOCK_BYTES);
    packets = encoder.encode(repair);
    encoder.free();
  });
  // Packets of each of raptorq's blocks come one after the other, repair packets last.
  const kept = packets.filter((_, i) => i % LOST !== 0);
  let used = 0;
  let result: Uint8Array | undefined;
  const decode = cpuSeconds(() => {
    const decoder = Decoder.with_defaults(BigInt(content.length), BLOCK_BYTES);
    for (const packet of kept) {
      used++;
      result = decoder.decode(packet);
      if (result !== undefined) break;
    }
    decoder.free();
  });
  if (result === undefined || Buffer.compare(result, content) !== 0)
    throw new Error(`Cannot decode by raptorq: expected the content, got ${result?.length} bytes`);
  return {
    name: 'raptorq 1.7.24 (WebAssembly)',
    blocks,
    blockBytes: BLOCK_BYTES,
    what: 'a fifth of the blocks lost',
    encode: (packets.length * BLOCK_BYTES) / 1e6 / encode,
    decode: content.length / 1e6 / decode,
    overhead: used / blocks - 1,
  };
}

/**
 * Ours in the same case: blocks as they are, a fifth of them lost, coded symbols for the rest. Most
 * symbols of low degree are sums of blocks that are here already, so it takes many. Or coded
 * symbols alone, with the same loss.
 */
export function measureOurs(blocks: number, withBlocks: boolean): PeerRates {
  const content = randomFillSync(new Uint8Array(blocks * BLOCK_BYTES));
  const key = codeKey(randomFillSync(new Uint8Array(32)));
  const code = new SymbolCode({ bytes: content.length, blockBytes: BLOCK_BYTES, key });
  const symbols: { ids: number[]; payload: Uint8Array }[] = [];
  const count = 3 * blocks;
  const first = withBlocks ? 0 : blocks;
  const encode = cpuSeconds(() => {
    const encoder = new SymbolEncoder(code, content);
    for (let id = first; id < first + count; id++) symbols.push({ ids: [id], payload: encoder.symbol(id) });
  });
  const kept = symbols.filter(({ ids: [id] }) => (withBlocks && id >= blocks) || id % LOST !== 0);
  let used = 0;
  let result = new Uint8Array(0);
  const decode = cpuSeconds(() => {
    const decoder = new SymbolDecoder(code, { mostSymbols: count });
    for (let more = blocks; more > 0; more = decoder.solve())
      for (let i = 0; i < more; i++) decoder.add(kept[used++]);
    result = decoder.content();
  });
  if (Buffer.compare(result, content) !== 0) throw new Error('Cannot decode: expected the content');
  return {
    name: 'ours (WebAssembly)',
    blocks,
    blockBytes: BLOCK_BYTES,
    what: withBlocks ? 'a fifth of the blocks lost' : 'coded symbols alone, a fifth lost',
    encode: (count * BLOCK_BYTES) / 1e6 / encode,
    decode: content.length / 1e6 / decode,
    overhead: used / blocks - 1,
  };
}

/** luby-transform, on content that is small enough for it. */
export function measureLuby(blocks: number, blockBytes: number): PeerRates {
  const content = randomFillSync(new Uint8Array(blocks * blockBytes));
  type Block = Parameters<ReturnType<typeof createDecoder>['addBlock']>[0];
  const sent: Block[] = [];
  const encode = cpuSeconds(() => {
    const encoder = createEncoder(content, blockBytes);
    for (const block of encoder.fountain()) {
      sent.push(block);
      if (sent.length === 3 * blocks) break;
    }
  });
  let used = 0;
  let result: Uint8Array | undefined;
  const decode = cpuSeconds(() => {
    const decoder = createDecoder();
    while (used < sent.length && !decoder.addBlock(sent[used++]));
    result = decoder.getDecoded();
  });
  if (result === undefined || Buffer.compare(result, content) !== 0)
    throw new Error(`Cannot decode by luby-transform: expected the content, got ${result?.length} bytes`);
  return {
    name: 'luby-transform 0.2.0',
    blocks,
    blockBytes,
    what: 'coded symbols alone',
    encode: (sent.length * blockBytes) / 1e6 / encode,
    decode: content.length / 1e6 / decode,
    overhead: used / blocks - 1,
  };
}
