/** Bloomery as built (`npm run build` in the root), each layout with all its ways in. */

import { parquetHash } from '../../packages/bloomery/dist/hashing/xxh64-scheme.js';
import {
  BlockedBloomFilter,
  BloomFilter,
  hashKey,
  type KernelChoice,
  SecretKey,
  useKernel,
} from '../../packages/bloomery/dist/index.js';
import { hasher, libraryForms } from '../shared/library-forms.ts';
import { type Chunk, FORM_NAMES, type FormName, type NativeTwin, type Subject } from '../shared/subject.ts';

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
  const hash = hasher(scheme);
  const forms = libraryForms(
    {
      add: (key) => scratch.add(key),
      addMany: (keys) => scratch.addMany(keys),
      has: (key) => full.has(key),
      hasMany: (keys) => full.hasMany(keys),
    },
    hash,
  );
  // What hashing costs in JavaScript shows in two or three forms; all of them would double the run.
  const shown: readonly FormName[] = options.keyed
    ? ['scalar', 'packed']
    : options.kernel === 'javascript'
      ? ['scalar', 'batch', 'packed']
      : FORM_NAMES;
  return {
    forms: forms.filter(({ name }) => shown.includes(name)),
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
