/**
 * The upper 32 bits of the unsigned product of two 32-bit numbers, computed from their 16-bit
 * halves. `Math.imul` gives only the lower ones. This is half of every 64-bit multiplication in
 * JavaScript.
 */
export function mulHigh(a: number, c: number): number {
  const a0 = a & 0xffff;
  const a1 = a >>> 16;
  const c0 = c & 0xffff;
  const c1 = c >>> 16;
  const middle = (Math.imul(a1, c0) + (Math.imul(a0, c0) >>> 16)) | 0;
  return (Math.imul(a1, c1) + (middle >>> 16) + ((Math.imul(a0, c1) + (middle & 0xffff)) >>> 16)) | 0;
}
