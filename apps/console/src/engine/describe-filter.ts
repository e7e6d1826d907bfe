/** Facts of an opened filter, as far as it knows them. They survive a message to the page. */

import type { OpenedFilter } from './open-filter.ts';

export interface FilterFacts {
  readonly format: string;
  /** The line that the filter prints about itself. */
  readonly text: string;
  readonly isCoded: boolean;
  readonly whyMute: string | null;
  readonly numbers: Readonly<Record<string, number>>;
  readonly ones: Float32Array;
}

/** Members and methods that filters have in common, under the names that they have there. */
const NUMBERS = [
  'bits',
  'counters',
  'blocks',
  'hashes',
  'capacity',
  'size',
  'counterBits',
  'fingerprintBits',
  'fill',
  'onesCount',
  'saturatedCount',
  'estimatedSize',
  'estimatedFalsePositiveRate',
  'byteLength',
] as const;

export function describeFilter({ format, filter, isCoded, whyMute, ones }: OpenedFilter): FilterFacts {
  const numbers: Record<string, number> = {};
  const known = filter as unknown as Record<string, unknown>;
  for (const name of NUMBERS) {
    const value = known[name];
    if (typeof value === 'number') numbers[name] = value;
    else if (typeof value === 'function' && value.length === 0) {
      const result: unknown = value.call(filter);
      if (typeof result === 'number') numbers[name] = result;
    }
  }
  return { format, text: String(filter), isCoded, whyMute, numbers, ones };
}
