/** Bloomery as built (`npm run build` in the root), each layout with all its ways in. */

import {
  BlockedBloomFilter,
  BloomFilter,
  hashKey,
  hashKeys,
  type KernelChoice,
  SecretKey,
  useKernel,
} from '../../packages/bloomery/dist/index.js';
import { parquetHash } from '../../packages/bloomery/dist/kernel/parquet-hash.js';
import type { Packed } from './keys.ts';
import { type Chunk, type Form, type NativeTwin, type Subject, scalarForm } from './subject.ts';

export type Layout = 'classic' | 'partitioned' | 'blocked' | 'split-block';

export interface LibraryOptions {
  readonly layout: Layout;
  readonly kernel: KernelChoice;
  readonly keyed?: boolean;
}

type Filter = BloomFilter | BlockedBloomFilter;

export function library(capacity: number, options: LibraryOptions): Subject {
  useKernel(options.kernel);
  const key = options.keyed ? { key: new SecretKey(Uint8Array.from({ length: 16 }, (_, i) => i)) } : {};
  const full = make(capacity, options.layout, key);
  const scratch = make(capacity, options.layout, key);
  const { scheme } = full;
  const hash = (packed: Packed) => hashKeys(packed, scheme);
  const scalar = scalarForm(
    (key) => scratch.add(key),
    (key) => full.has(key),
  );
  const packed: Form = {
    name: 'packed',
    add: (chunk) => scratch.addMany(chunk.packed),
    has: (chunk) => full.hasMany(chunk.packed),
  };
  const batch: Form = {
    name: 'batch',
    add: (chunk) => scratch.addMany(chunk.strings),
    has: (chunk) => full.hasMany(chunk.strings),
  };
  const others: Form[] = [
    {
      name: 'lines',
      add: (chunk) => scratch.addMany({ lines: chunk.lines }),
      has: (chunk) => full.hasMany({ lines: chunk.lines }),
    },
    {
      name: 'hashes',
      add: (chunk) => scratch.addMany(chunk.hashed(hash)),
      has: (chunk) => full.hasMany(chunk.hashed(hash)),
    },
  ];
  return {
    // What hashing costs in JavaScript shows in two or three forms; all of them would double the run.
    forms: options.keyed
      ? [scalar, packed]
      : options.kernel === 'javascript'
        ? [scalar, batch, packed]
        : [scalar, batch, packed, ...others],
    fill: (chunk: Chunk) => full.addMany(chunk.packed),
    warmScratch: (chunk: Chunk) => scratch.addMany(chunk.packed),
    reset: () => scratch.clear(),
    hash,
    bits: () => full.byteLength * 8,
    describe: () => String(full),
    ...(options.keyed || options.layout === 'partitioned' ? {} : { twin: () => twin(full) }),
  };
}

function make(capacity: number, layout: Layout, key: { key?: SecretKey }): Filter {
  const falsePositiveRate = 0.01;
  return layout === 'classic' || layout === 'partitioned'
    ? BloomFilter.forCapacity({ capacity, falsePositiveRate, layout, ...key })
    : BlockedBloomFilter.forCapacity({ capacity, falsePositiveRate, layout, ...key });
}

function twin(filter: Filter): NativeTwin {
  const { hashes } = filter;
  if (filter instanceof BlockedBloomFilter) {
    const layout = filter.layout === 'blocked' ? 'block' : 'split';
    return { layout, size: filter.blocks, hashes, checksum: checksum(filter.toBlockBytes()) };
  }
  // A frame ends with the bits and a checksum of four bytes.
  const frame = filter.encode();
  const bits = frame.subarray(frame.length - 4 - Math.ceil(filter.bits / 8), frame.length - 4);
  return { layout: 'classic', size: filter.bits, hashes, checksum: checksum(bits) };
}

function checksum(bytes: Uint8Array): string {
  const { low, high } = hashKey(bytes, parquetHash()); // XXH64, which the native side has as well
  return high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0');
}
