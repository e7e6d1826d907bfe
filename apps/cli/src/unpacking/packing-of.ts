/** Recognises a packing by the first bytes of a file, whatever its name is. */

export type Packing = 'none' | 'gzip' | 'zstd' | 'xz' | 'bzip2';

/** Enough bytes to recognise each packing. */
export const HEAD = 10;

export function packingOf(head: Uint8Array): Packing {
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip';
  if (isZstd(head)) return 'zstd';
  if (head[0] === 0xfd && head[1] === 0x37 && head[2] === 0x7a && head[3] === 0x58) return 'xz';
  return isBzip2(head) ? 'bzip2' : 'none';
}

/**
 * Whether the bytes begin a frame of zstd (RFC 8878, 3.1.1), a skippable frame (3.1.2), which is
 * the first one in files of pzstd, or a frame of a release before 0.8, whose magic numbers end in
 * 0x22 to 0x27.
 */
function isZstd([a, b, c, d]: Uint8Array): boolean {
  if (b === 0xb5 && c === 0x2f && d === 0xfd) return a >= 0x22 && a <= 0x28;
  return (a & 0xf0) === 0x50 && b === 0x2a && c === 0x4d && d === 0x18;
}

/**
 * Whether the bytes begin as bzip2: "BZh", the size of the blocks, and the digits of pi, or of its
 * root if there is no block. Three letters alone could be a line of text.
 */
function isBzip2(head: Uint8Array): boolean {
  const [start, size, magic] = [head.subarray(0, 3), head[3], Buffer.from(head.subarray(4, 10))];
  return (
    Buffer.from(start).toString('latin1') === 'BZh' &&
    size >= 0x31 &&
    size <= 0x39 &&
    ['314159265359', '177245385090'].includes(magic.toString('hex'))
  );
}
