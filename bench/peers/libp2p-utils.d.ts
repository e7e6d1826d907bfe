/** The parts of @libp2p/utils 7.4.1 that are used here, for a machine without it. */

export interface Filter {
  add(item: string): void;
  has(item: string): boolean;
  remove?(item: string): boolean;
}

export function createBloomFilter(capacity: number, rate?: number): Filter;
export function createCuckooFilter(capacity: number, rate?: number): Filter;
