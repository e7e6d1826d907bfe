/**
 * Frames as bytes, for commands that move bits and do not ask the filter: encode, decode, delta,
 * apply. Packing a keyed filter, or finding the changes in it, needs no secret key, so none is
 * asked for. The parameters in an error come from the header (docs/spec/frame.md), not from a
 * decoded filter.
 *
 * An error in a file is a `UsageError` that names the file.
 */

import {
  checkFrame,
  DELTA_MAGIC,
  FRAME_MAGIC,
  type FrameHash,
  type FrameHead,
  hasMagic,
  readFrameHead,
} from 'bloomery/frames';
import { expandFrame } from 'bloomery/wire';
import { readFilterBytes } from '../files/filter-file.ts';
import { naming } from '../files/frame-error-text.ts';
import { type Structure, structureOf } from '../files/structures.ts';
import { readSettled } from '../in-place/recovered-file.ts';
import { formatCount } from '../terminal/format-values.ts';
import { UsageError } from '../usage-error.ts';

export interface FrameFile {
  readonly path: string;
  readonly structure: Structure;
  /** The bytes of the file. */
  readonly bytes: Uint8Array;
  /** Whether the payload is coded. */
  readonly coded: boolean;
  /** The plain frame. If the file is plain, its checksum is not verified yet: see `verifyPlain`. */
  readonly frame: Uint8Array;
  /** The head of the plain frame. */
  readonly head: FrameHead;
}

export async function readFrame(path: string): Promise<FrameFile> {
  const bytes = await (path === '-' ? readFilterBytes(path) : readSettled(path));
  if (hasMagic(DELTA_MAGIC, bytes)) {
    throw new UsageError(
      `${path} is a delta, not a filter; bloomery apply OLD ${path} -o NEW makes the filter`,
    );
  }
  if (!hasMagic(FRAME_MAGIC, bytes)) {
    throw new UsageError(`${path} is ${bytes.length === 0 ? 'empty' : 'not a filter made by bloomery'}`);
  }
  return naming(path, () => {
    const { structure, coded } = readFrameHead(bytes);
    const frame = coded ? expandFrame(bytes, { maxBytes: Number.POSITIVE_INFINITY }) : bytes;
    return { path, bytes, structure: structureOf(structure), coded, frame, head: readFrameHead(frame) };
  });
}

/**
 * Refuses a plain frame that was cut off or changed. Coded ones were verified when they were
 * unpacked.
 */
export function verifyPlain({ path, coded, frame }: FrameFile): void {
  if (!coded) naming(path, () => checkFrame(frame));
}

/**
 * The parameters in the head, such as `BloomFilter(9,586 bits, 7 hashes, classic, capacity 1,000,
 * seed 0)`.
 */
export function describeFrame({ head }: FrameFile): string {
  const { structure, parameters, hash } = head;
  if (structure !== 'BloomFilter' && structure !== 'BlockedBloomFilter') {
    const settings = Object.entries(parameters)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name} ${value}`);
    return `${structure}(${[...settings, describeHash(hash)].join(', ')})`;
  }
  const { hashes, layout, capacity } = parameters;
  const size =
    'blocks' in parameters
      ? `${formatCount(parameters.blocks)} blocks`
      : `${formatCount(parameters.bits)} bits`;
  const parts = [
    size,
    `${hashes} hashes`,
    layout,
    capacity === undefined ? 'no capacity' : `capacity ${formatCount(capacity)}`,
    describeHash(hash),
  ];
  return `${structure}(${parts.join(', ')})`;
}

function describeHash({ name, keyed, seed }: FrameHash): string {
  if (keyed) return `secret key with check value ${seed.toString(16)}`;
  if (name === 'xxh64') return seed === 0n ? 'XXH64' : `XXH64 with seed ${seed.toString(16)}`;
  return `seed ${seed.toString(16)}`;
}
