/**
 * Random and mutated bytes for a decoder of a foreign format. Whatever comes, it must answer with a
 * filter or with a
 * `FormatError`; and a filter must answer, and write the bytes it was read from.
 */

import { Random } from '@bloomery/testkit/statistics';
import type { ForeignFilter } from '../src/formats/shared/foreign-filter.ts';
import type { ForeignFormat } from '../src/formats/shared/foreign-formats.ts';
import { FormatError } from '../src/formats/shared/format-error.ts';

export interface FuzzSubject {
  readonly name: string;
  readonly format: ForeignFormat;
  /** A file that the real program wrote. */
  readonly file: Uint8Array;
  readonly headerLength: number;
  readonly decode: (bytes: Uint8Array) => ForeignFilter<never>;
  /** A key that it takes. */
  readonly probe: unknown;
  /**
   * Whether a file that is read may be written with other bytes: JSON has many forms for one value.
   */
  readonly manyForms?: boolean;
}

export function fuzzDecoder(
  { name, file, headerLength, decode, probe, manyForms }: FuzzSubject,
  rounds: number,
  seed: number,
): { readonly accepted: number; readonly refused: number } {
  const random = new Random(seed);
  let accepted = 0;
  for (let round = 0; round < rounds; round++) {
    const bytes = mutated(random, file, headerLength, round);
    try {
      const filter = decode(bytes);
      filter.has(probe as never);
      const rate = filter.estimatedFalsePositiveRate();
      if (!(rate >= 0 && rate <= 1)) throw new Error(`a rate of ${rate}`);
      if (!manyForms && !same(filter.encode(), bytes)) throw new Error('other bytes were written');
      accepted++;
    } catch (error) {
      if (error instanceof FormatError && error.offset >= 0 && error.offset <= bytes.length) continue;
      throw new Error(`${name}, round ${round}: ${[...bytes.subarray(0, 200)]}`, { cause: error });
    }
  }
  return { accepted, refused: rounds - accepted };
}

function mutated(random: Random, file: Uint8Array, headerLength: number, round: number): Uint8Array {
  if (round % 4 === 0) return random.bytes(random.below(120));
  // A whole file, a file with a cut or longer end, or a header before random bytes.
  const length =
    round % 4 === 1 ? file.length : random.below(round % 4 === 2 ? headerLength + 40 : file.length + 9);
  const bytes = new Uint8Array(length);
  bytes.set(file.subarray(0, length));
  const reach = random.below(4) === 0 ? length : Math.min(length, headerLength);
  for (let n = random.below(5); n >= 0 && reach > 0; n--) {
    bytes[random.below(reach)] = random.pick([0, 1, 0x7f, 0x80, 0xff, random.bits() & 255]);
  }
  return bytes;
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
