/**
 * Frames as bytes, for commands that move bits and ask nothing: encode, decode, delta, apply. No secret is needed to
 * pack a keyed filter or to say what changed in it, so none is asked for; the parameters in an error are read from the
 * header (docs/spec/frame.md) and not from a filter.
 *
 * What is wrong with a file is a `UsageError` that names it.
 */

import { FrameError } from 'bloomery';
import { compressFrame, expandFrame, makeDelta } from 'bloomery/wire';
import { readFilterBytes } from '../files/filter-file.ts';
import { type Structure, structureByCode } from '../files/structures.ts';
import { readSettled } from '../in-place/recovered-file.ts';
import { formatCount } from '../terminal/format-values.ts';
import { UsageError } from '../usage-error.ts';

export interface FrameFile {
  readonly path: string;
  readonly structure: Structure;
  /** As the file has it. */
  readonly bytes: Uint8Array;
  /** Whether the payload is coded. */
  readonly coded: boolean;
  /** The plain frame. Of a plain file the checksum has not been verified yet: see `verifyPlain`. */
  readonly frame: Uint8Array;
}

export async function readFrame(path: string): Promise<FrameFile> {
  const bytes = await (path === '-' ? readFilterBytes(path) : readSettled(path));
  if (startsWith(bytes, DELTA_MAGIC)) {
    throw new UsageError(
      `${path} is a delta, not a filter; bloomery apply OLD ${path} -o NEW makes the filter`,
    );
  }
  if (!startsWith(bytes, MAGIC)) {
    throw new UsageError(`${path} is ${bytes.length === 0 ? 'empty' : 'not a filter made by bloomery'}`);
  }
  const structure = structureByCode(bytes[5]);
  return naming(path, () => {
    if (bytes.length < 16)
      throw new FrameError('truncated', bytes.length, `expected 16 bytes, got ${bytes.length}`);
    if (structure === undefined)
      throw new FrameError('structure', 5, `no structure has the number ${bytes[5]}`);
    const coded = (bytes[6] & CODED) !== 0;
    const frame = coded ? expandFrame(bytes, { maxBytes: Number.POSITIVE_INFINITY }) : bytes;
    return { path, bytes, structure, coded, frame };
  });
}

/** Whether the payload of the structure can be coded; the others have no coded form. */
export function canBeCoded({ code }: Structure): boolean {
  return code <= 3;
}

/** Refuses a plain frame that was cut off or changed. Coded ones were verified when they were unpacked. */
export function verifyPlain({ path, structure, coded, frame }: FrameFile): void {
  if (coded) return;
  naming(path, () => {
    // The library verifies a frame before it packs or compares it, and needs no secret for that.
    if (structure.code <= 2) makeDelta(frame, frame, { effort: 'fast' });
    else if (canBeCoded(structure)) compressFrame(frame, { effort: 'fast' });
    else decodeUnlessKeyed(structure, frame);
  });
}

/** A frame under a secret key cannot be read here, and need not be. */
function decodeUnlessKeyed(structure: Structure, frame: Uint8Array): void {
  try {
    structure.decode(frame, {});
  } catch (error) {
    if (!(error instanceof FrameError && error.code === 'key')) throw error;
  }
}

/** Runs `work`; what is wrong with the frame becomes an error about the file. */
export function naming<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    const { code, message } = error;
    const before =
      code === 'truncated' ? 'the file is cut off: ' : code === 'checksum' ? 'the file was damaged: ' : '';
    const after = code === 'key' ? '; --key-file names the file with the secret' : '';
    throw new UsageError(`${path}: ${before}${message}${after}`, { cause: error });
  }
}

/** The parameters in the header, such as `BloomFilter(9,586 bits, 7 hashes, classic, capacity 1,000, seed 0)`. */
export function describeFrame({ structure, frame }: FrameFile): string {
  const { code, name } = structure;
  if (code > 2) return name;
  // Structure 1: bits (5), hashes (1), capacity (6). Structure 2: blocks (4), hashes (1), capacity (6).
  const width = code === 1 ? 5 : 4;
  const view = Buffer.from(frame.buffer, frame.byteOffset, frame.length);
  const size = view.readUIntLE(16, width);
  const capacity = view.readUIntLE(16 + width + 1, 6);
  const seed = view.readBigUInt64LE(8).toString(16);
  const parts = [
    `${formatCount(size)} ${code === 1 ? 'bits' : 'blocks'}`,
    `${frame[16 + width]} hashes`,
    LAYOUTS[code][frame[6]] ?? `variant ${frame[6]}`,
    capacity === 0 ? 'no capacity' : `capacity ${formatCount(capacity)}`,
    HASH_NAMES[frame[7]]?.(seed) ?? `hash ${frame[7]}`,
  ];
  return `${name}(${parts.join(', ')})`;
}

export function startsWith(bytes: Uint8Array, magic: string): boolean {
  return [...magic].every((letter, i) => bytes[i] === letter.charCodeAt(0));
}

const MAGIC = 'BLMY';
export const DELTA_MAGIC = 'BLMD';
const CODED = 128;
const LAYOUTS: Record<number, readonly string[]> = {
  1: ['classic', 'partitioned'],
  2: ['blocked', 'split-block'],
};
const HASH_NAMES: Record<number, (seed: string) => string> = {
  1: (seed) => `seed ${seed}`,
  2: (check) => `secret key with check value ${check}`,
  3: () => 'XXH64',
};
