/**
 * Digests of a batch of packets in WebAssembly. The bytes of the batch are copied as a whole into
 * the module's memory, which costs less than a copy of each packet's prefix in JavaScript.
 */

import type { HeaderBatch } from '../../capture/headers/header-batch.ts';
import type { PacketBatch } from '../../capture/packet-batch.ts';
import { type DigestKernel, type PacketDigests64, SOURCE_SLACK_S } from './digest-kernel.ts';
import { DIGESTS_BASE64 } from './digests-binary.ts';
import { LAYOUT, RECENT_SLOTS } from './layout.ts';

/** The globals of the platform that this file uses; browsers, Node and workers have them. */
interface WebAssemblyLike {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
  readonly Memory: new (size: { initial: number }) => WasmMemory;
}

interface WasmMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

interface DigestExports {
  digest(count: number, base: number, payloadBytes: number, slackS: number): number;
}

const PAGE = 65536;
/** The kernel reads whole words, up to seven bytes behind the last packet. */
const SLACK = 64;
let compiled: object | null | undefined;

function webAssembly(): WebAssemblyLike {
  return (globalThis as unknown as { WebAssembly: WebAssemblyLike }).WebAssembly;
}

/** The compiled module, or null where WebAssembly is not allowed. */
function digestModule(): object | null {
  if (compiled === undefined) {
    try {
      compiled = new (webAssembly().Module)(Uint8Array.from(atob(DIGESTS_BASE64), (c) => c.charCodeAt(0)));
    } catch {
      compiled = null;
    }
  }
  return compiled;
}

export class WasmDigests implements DigestKernel {
  readonly #memory: WasmMemory;
  readonly #exports: DigestExports;
  readonly #payloadBytes: number;
  #bytes: Uint8Array;

  private constructor(memory: WasmMemory, exports: DigestExports, payloadBytes: number) {
    this.#memory = memory;
    this.#exports = exports;
    this.#payloadBytes = payloadBytes;
    this.#bytes = new Uint8Array(memory.buffer);
  }

  /** Makes a kernel with this key, or null where WebAssembly is not allowed. */
  static create(key: Uint8Array, payloadBytes: number): WasmDigests | null {
    const module = digestModule();
    if (module === null) return null;
    const { Instance, Memory } = webAssembly();
    const memory = new Memory({ initial: LAYOUT.bytes / PAGE + 5 });
    const exports = new Instance(module, { env: { memory } }).exports as DigestExports;
    const kernel = new WasmDigests(memory, exports, payloadBytes);
    kernel.#bytes.set(key, LAYOUT.secret);
    // Times are NaN in slots that were not used, so that no source is mistaken for a recent one.
    new Float64Array(memory.buffer, LAYOUT.recent, 4 * RECENT_SLOTS).fill(Number.NaN);
    return kernel;
  }

  digest(
    batch: PacketBatch,
    headers: HeaderBatch,
    from: number,
    to: number,
    withSources: boolean,
  ): PacketDigests64 {
    const count = to - from;
    // Readers deliver the packets of a batch in the order of their bytes.
    const base = batch.offset[from];
    const end = batch.offset[to - 1] + batch.capturedLength[to - 1];
    this.#makeRoom(end - base);
    const { buffer } = this.#memory;
    this.#bytes.set(batch.bytes.subarray(base, end), LAYOUT.bytes);
    this.#bytes.set(headers.status.subarray(from, to), LAYOUT.status);
    const column = (at: number) => new Uint32Array(buffer, at, count);
    column(LAYOUT.starts).set(batch.offset.subarray(from, to));
    column(LAYOUT.captured).set(batch.capturedLength.subarray(from, to));
    column(LAYOUT.headers).set(headers.ipOffset.subarray(from, to));
    column(LAYOUT.lengths).set(headers.ipLength.subarray(from, to));
    column(LAYOUT.nanoseconds).set(batch.nanoseconds.subarray(from, to));
    new Float64Array(buffer, LAYOUT.seconds, count).set(batch.seconds.subarray(from, to));
    const made = this.#exports.digest(count, base, this.#payloadBytes, withSources ? SOURCE_SLACK_S : -1);
    const rows = new Uint32Array(buffer, LAYOUT.rows, made);
    if (from > 0) for (let i = 0; i < made; i++) rows[i] = rows[i] + from;
    const [cut, sources] = new Uint32Array(buffer, LAYOUT.cut, 2);
    return {
      count: made,
      cut,
      words: new Int32Array(buffer, LAYOUT.hashes, 2 * made),
      rows,
      times: new Float64Array(buffer, LAYOUT.times, made),
      sourceWords: new Int32Array(buffer, LAYOUT.sourceHashes, 2 * sources),
      sourceTimes: new Float64Array(buffer, LAYOUT.sourceTimes, sources),
    };
  }

  #makeRoom(bytes: number): void {
    const lacking = LAYOUT.bytes + bytes + SLACK - this.#bytes.length;
    if (lacking <= 0) return;
    this.#memory.grow(Math.ceil(lacking / PAGE));
    this.#bytes = new Uint8Array(this.#memory.buffer);
  }
}
