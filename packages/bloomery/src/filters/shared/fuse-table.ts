/**
 * The parts that `StaticFilter` and `BloomierFilter` share around their binary fuse table
 * (kernel/tables/fuse.ts): its probes, its bytes, its comparison, and the number of bits for a
 * rate. The meaning of an answer stays in the filters: Bloomier's lowest two bits select a slot,
 * and all other bits of an answer are zero for a key of the set.
 */

import { BitStore } from '../../kernel/bits/bit-store.ts';
import { FuseLayout, fuseAnswer } from '../../kernel/tables/fuse.ts';
import { fuseHasInWasm } from '../../kernel/tables/fuse-wasm.ts';
import { WASM_POSSIBLE } from '../../kernel/wasm/wasm-possible.ts';
import { checkInteger, checkRate } from '../../math/checks.ts';
import type { Prober } from './batch-probing.ts';

/**
 * The probes of a table: a key may be in the set if its answer is zero above the `indexBits`
 * lowest.
 */
export function fuseProber(layout: FuseLayout, indexBits: number): Prober {
  return {
    has: (words, low, high) => fuseAnswer(words, layout, low, high) >>> indexBits === 0,
    add: unused,
    inWasm: WASM_POSSIBLE
      ? {
          hasKey: unused,
          has: (wasm, count, address) => fuseHasInWasm(wasm, count, address, layout, indexBits),
          add: unused,
        }
      : null,
  };
}

/**
 * Reads a table from the payload of a frame, whose kind has checked the parameters. A slot has
 * `stride` bits, of which the lowest `width` are XORed to an answer.
 */
export function readTable(
  payload: Uint8Array,
  [attempt, segments, segmentLength]: readonly number[],
  width: number,
  stride = width,
): [layout: FuseLayout, store: BitStore] {
  const layout = new FuseLayout({ segments, segmentLength }, attempt, { stride, width });
  const store = BitStore.allocate(32 * layout.wordCount);
  store.setBytes(payload);
  return [layout, store];
}

/** Whether two tables of the same shape have the same slots. */
export function sameSlots(a: BitStore, ofA: FuseLayout, b: BitStore, ofB: FuseLayout): boolean {
  return ofA.attempt === ofB.attempt && a.words.every((word, i) => word === b.words[i]);
}

/**
 * The number of bits that options ask for: by the option `name`, or by a rate, which is rounded
 * down to a power of two. `most` is the largest number that a `type` can have.
 */
export function bitsAsked<Name extends string>(
  type: string,
  name: Name,
  most: number,
  options: { readonly [N in Name | 'falsePositiveRate']?: number | undefined },
): number {
  const { [name]: bits, falsePositiveRate } = options;
  if (falsePositiveRate === undefined) return checkInteger(name, bits ?? 8, 1, most);
  if (bits !== undefined)
    throw new TypeError(`Cannot size a ${type}: expected ${name} or falsePositiveRate, got both`);
  checkRate('falsePositiveRate', falsePositiveRate);
  for (let width = 1; width <= most; width++) if (2 ** -width <= falsePositiveRate) return width;
  throw new RangeError(
    `Cannot use falsePositiveRate: expected at least 2^-${most} in a ${type}, got ${falsePositiveRate}`,
  );
}

/** Required by `Prober`, but never called: no method adds a key, or looks one up with a prober. */
function unused(): never {
  throw new TypeError('Cannot add to a table: its keys are fixed');
}
