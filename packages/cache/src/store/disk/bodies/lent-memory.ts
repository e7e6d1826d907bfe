/**
 * Memory for pieces of bodies that are read, sent and forgotten. Fresh memory of megabytes is
 * expensive: the system maps it, clears each page at its first touch and takes it back, and the
 * garbage collector runs for it. Memory that is given back is therefore lent again.
 *
 * Giving back is voluntary: memory that is not given back is garbage-collected as usual. No memory
 * is lent twice at a time: it is taken back only if it is lent, and only once. Sizes are powers of
 * two of 64 KiB; at most `IDLE_BYTES` are kept unused.
 */

const SMALLEST = 64 * 1024;
const LARGEST = 2 * 1024 * 1024;
const IDLE_BYTES = 16 * 1024 * 1024;
/**
 * Large memory begins 16 bytes after the beginning of a page. Copying to there from the beginning
 * of another page, as a read of the page cache does, takes a slow path of some processors: 1.5 GB/s
 * instead of 6 here (AMD EPYC, `rep movsb`). Half a page further it does not.
 */
const SKEW = 2048;

const idle = new Map<number, ArrayBuffer[]>();
let idleBytes = 0;
const lent = new WeakSet<ArrayBufferLike>();

/** Returns `length` bytes with arbitrary content. */
export function lend(length: number): Buffer {
  if (length > LARGEST) return Buffer.allocUnsafeSlow(SKEW + length).subarray(SKEW);
  const size = SKEW + Math.max(SMALLEST, 2 ** Math.ceil(Math.log2(length)));
  let memory = idle.get(size)?.pop();
  if (memory === undefined) memory = Buffer.allocUnsafeSlow(size).buffer;
  else idleBytes -= size;
  lent.add(memory);
  return Buffer.from(memory, SKEW, length);
}

/**
 * Takes memory back. The caller must be its last user. Bytes that were not lent here, or were
 * already given back, are ignored.
 */
export function giveBack({ buffer: memory }: Uint8Array): void {
  if (!lent.delete(memory)) return;
  const size = memory.byteLength;
  if (idleBytes + size > IDLE_BYTES) return;
  idleBytes += size;
  const same = idle.get(size);
  if (same === undefined) idle.set(size, [memory as ArrayBuffer]);
  else same.push(memory as ArrayBuffer);
}
