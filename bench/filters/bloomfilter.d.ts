/** The parts of bloomfilter 1.1.0 that are used here; it comes without types. */
declare module 'bloomfilter' {
  export class BloomFilter {
    readonly m: number;
    readonly k: number;
    readonly buckets: Uint32Array;
    static withTargetError(capacity: number, rate: number): BloomFilter;
    add(key: string): void;
    test(key: string): boolean;
  }
}
