/**
 * The scanner in WebAssembly. The module has a memory of its own for each scanner:
 *
 *     0         STATE     the window of the line and the counters, laid out in assembly/text/grams.ts
 *     256       FOLDED    each byte in lower case
 *     512       CLASSES   whether a byte counts for the rule of the extra grams
 *     65536     BITS      the bits of the block, up to 128 KiB
 *     196608    SOURCE    a window of 256 KiB of text, and a page behind it: lines are read by 16 bytes
 */

import type { GramScanner } from './gram-scanner.ts';
import { EXTRA_RULES, FOLDED, type GramScheme, lowBytes, ruleClasses } from './gram-scheme.ts';
import { GRAMS_BASE64 } from './grams-binary.ts';

const FOLDED_AT = 256;
const CLASSES_AT = 512;
const BITS_AT = 65536;
const SOURCE_AT = 196608;
const WINDOW = 262144;
const PAGE = 65536;

/** The globals of the platform that this file uses; browsers, Node and workers have them. */
interface WebAssemblyLike {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
  readonly Memory: new (size: { initial: number }) => { readonly buffer: ArrayBuffer };
}

interface GramExports {
  scan(source: number, length: number, room: number): number;
}

let compiled: object | null | undefined;

/** The compiled module, or null where WebAssembly is not allowed. */
export function linkGramModule(): object | null {
  if (compiled === undefined) {
    try {
      const { Module } = webAssembly();
      compiled = new Module(Uint8Array.from(atob(GRAMS_BASE64), (c) => c.charCodeAt(0)));
    } catch {
      compiled = null;
    }
  }
  return compiled;
}

function webAssembly(): WebAssemblyLike {
  return (globalThis as unknown as { WebAssembly: WebAssemblyLike }).WebAssembly;
}

export class WasmGramScanner implements GramScanner {
  readonly #call: GramExports;
  readonly #state: DataView;
  readonly #bits: Uint8Array;
  readonly #source: Uint8Array;

  constructor(scheme: GramScheme, module: object) {
    const { Instance, Memory } = webAssembly();
    const memory = new Memory({ initial: (SOURCE_AT + WINDOW) / PAGE + 1 });
    this.#call = new Instance(module, { env: { memory } }).exports as GramExports;
    this.#state = new DataView(memory.buffer);
    this.#bits = new Uint8Array(memory.buffer, BITS_AT, 2 ** scheme.bitsLog2 / 8);
    this.#source = new Uint8Array(memory.buffer, SOURCE_AT, WINDOW);
    new Uint8Array(memory.buffer, FOLDED_AT, 256).set(FOLDED);
    new Uint8Array(memory.buffer, CLASSES_AT, 256).set(ruleClasses(scheme.extraRule));
    this.#writeScheme(scheme);
  }

  /** The parameters, as assembly/text/grams.ts reads them. */
  #writeScheme({ gram, extra, extraRule, bitsLog2, limit }: GramScheme): void {
    const all = extraRule === 'run';
    [
      gram,
      extraRule === 'none' ? 0xffffffff : extra,
      EXTRA_RULES.indexOf(extraRule),
      32 - bitsLog2,
      lowBytes(Math.min(gram, 4)),
      lowBytes(gram - 4),
      lowBytes(extra - 4),
      (1 << (all ? extra : gram)) - 1,
      limit,
    ].forEach((value, i) => {
      this.#state.setUint32(SCHEME_AT + 4 * i, value >>> 0, true);
    });
  }

  get ones(): number {
    return this.#state.getUint32(ONES_AT, true);
  }

  get lines(): number {
    return this.#state.getUint32(LINES_AT, true) + 2 ** 32 * this.#state.getUint32(LINES_AT + 4, true);
  }

  get full(): boolean {
    return this.#state.getUint32(FULL_AT, true) !== 0;
  }

  scan(bytes: Uint8Array, from: number, room: number): number {
    this.#state.setUint32(FULL_AT, 0, true);
    for (let at = from; at < bytes.length; ) {
      const part = bytes.subarray(at, at + WINDOW);
      this.#source.set(part);
      const left = Math.min(0xffffffff, Math.max(0, room - (at - from)));
      at += this.#call.scan(SOURCE_AT, part.length, left);
      if (this.full) return at;
    }
    return bytes.length;
  }

  endLine(): void {
    for (let i = 0; i < ONES_AT; i += 4) this.#state.setUint32(i, 0, true);
  }

  take(): Uint8Array<ArrayBuffer> {
    const bits = Uint8Array.from(this.#bits);
    this.#bits.fill(0);
    this.#state.setUint32(ONES_AT, 0, true);
    return bits;
  }
}

/** Places in STATE: last, before, run, marks, then the counters and the scheme. */
const ONES_AT = 16;
const FULL_AT = 20;
const LINES_AT = 24;
const SCHEME_AT = 64;
