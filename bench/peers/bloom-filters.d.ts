/** The parts of bloom-filters 3.0.4 that are used here, for a machine without it. */

declare class BloomFilter {
  readonly size: number;
  static create(capacity: number, rate: number): BloomFilter;
  add(key: string): void;
  has(key: string): boolean;
}

declare class CountingBloomFilter extends BloomFilter {
  static override create(capacity: number, rate: number): CountingBloomFilter;
  remove(key: string): boolean;
}

declare class XorFilter {
  readonly _filter: ArrayLike<unknown>;
  static create(keys: string[], bitsPerFingerprint: 8 | 16): XorFilter;
  constructor(size: number, bitsPerFingerprint?: 8 | 16);
  has(key: string): boolean;
}

declare class CountMinSketch {
  readonly rows: number;
  readonly columns: number;
  static create(errorRate?: number, accuracy?: number): CountMinSketch;
  update(key: string): void;
  count(key: string): number;
}

declare class CuckooFilter {
  static create(capacity: number, rate: number): CuckooFilter;
  /** False if the filter is full. */
  add(key: string): boolean;
  has(key: string): boolean;
  remove(key: string): boolean;
}

declare const bloomFilters: {
  BloomFilter: typeof BloomFilter;
  CountingBloomFilter: typeof CountingBloomFilter;
  XorFilter: typeof XorFilter;
  CountMinSketch: typeof CountMinSketch;
  CuckooFilter: typeof CuckooFilter;
};
export default bloomFilters;
