/**
 * A binary range coder for arrays whose number of ones is known: the smallest coding, bit by bit.
 * Twin: assembly/coders/range-coder.ts.
 *
 * Both sides know how many ones and how many bits are left, so the probability of a one needs no
 * table and no learning: it is ones left / bits left. Coded like that, an array of m bits with c
 * ones takes log2 of the binomial coefficient m over c, in bits. That is a byte less than m times
 * the entropy. The end of the code takes about one byte more. The coder of the paper (compressed
 * III) learns the probability as it goes, and pays 16 bytes for that in the paper's own experiment.
 *
 * How. At each bit a 32-bit range is cut in two, in proportion to the probability, and the part
 * that stands for the bit is kept. When it gets below 2^24, a byte is written. The probability is a
 * 16-bit integer, computed again for every 32 bits. (Computing it again for every bit would gain a
 * hundredth of a byte and cost a division.) Zeros at the end of the code are dropped and read as
 * zeros. The encoder takes the number with most zeros from the final range.
 *
 *     word by word:   p = clamp(floor(65536 * ones / bits), 1, 65535)     of the ones and bits left
 *     bit by bit:     bound = (range >>> 16) * p;  one: range = bound;  zero: low += bound, range -= bound
 *     below 2^24:     write the top byte of low (with carry), low <<= 8, range <<= 8
 *
 * All numbers stay below 2^33, so doubles are exact and all engines give the same bytes.
 */

const TOP = 2 ** 24;
const WHOLE = 2 ** 32;

/**
 * Codes the first `bits` bits of `source`, `ones` of which are set. Returns the length; `target`
 * must be long enough.
 */
export function rangeEncode(source: Uint32Array, bits: number, ones: number, target: Uint8Array): number {
  let low = 0;
  let range = WHOLE - 1;
  let used = 0;
  let onesLeft = ones;
  for (let start = 0; start < bits; start += 32) {
    const left = bits - start;
    const p = probability(onesLeft, left);
    const count = Math.min(left, 32);
    const word = source[start >>> 5];
    for (let i = 0; i < count; i++) {
      const bound = (range >>> 16) * p;
      if ((word >>> i) & 1) {
        range = bound;
        onesLeft--;
      } else {
        low += bound;
        range -= bound;
      }
      while (range < TOP) {
        if (low >= WHOLE) {
          carry(target, used);
          low -= WHOLE;
        }
        target[used++] = low >>> 24;
        low = (low & 0xffffff) * 256;
        range *= 256;
      }
    }
  }
  return finish(target, used, low, range);
}

/**
 * Decodes: sets the ones in `target`, which must hold zeros. Returns false if the code does not
 * have `ones` ones.
 */
export function rangeDecode(code: Uint8Array, bits: number, ones: number, target: Uint32Array): boolean {
  let range = WHOLE - 1;
  let used = 4;
  // Bytes beyond the end are zeros.
  let value = ((code[0] << 24) | (code[1] << 16) | (code[2] << 8) | code[3]) >>> 0;
  let onesLeft = ones;
  for (let start = 0; start < bits; start += 32) {
    const left = bits - start;
    const p = probability(onesLeft, left);
    const count = Math.min(left, 32);
    let word = 0;
    for (let i = 0; i < count; i++) {
      const bound = (range >>> 16) * p;
      if (value < bound) {
        range = bound;
        word |= 1 << i;
        onesLeft--;
      } else {
        value -= bound;
        range -= bound;
      }
      while (range < TOP) {
        value = (value * 256 + (used < code.length ? code[used] : 0)) % WHOLE;
        used++;
        range *= 256;
      }
    }
    target[start >>> 5] = word;
  }
  return onesLeft === 0;
}

/**
 * The probability of a one among the bits left, in 65536ths. It is clamped, so that a wrong count
 * cannot stall the coder.
 */
function probability(onesLeft: number, bitsLeft: number): number {
  const p = Math.floor((65536 * onesLeft) / bitsLeft);
  return Math.max(1, Math.min(65535, p));
}

function carry(target: Uint8Array, used: number): void {
  let at = used - 1;
  while (target[at] === 255) target[at--] = 0;
  target[at]++;
}

/** Writes the fewest bytes that identify a number in the final range. */
function finish(target: Uint8Array, used: number, low: number, range: number): number {
  let length = used;
  for (let unit = WHOLE; unit >= 1; unit /= 256) {
    let value = Math.ceil(low / unit) * unit;
    if (value >= low + range) continue;
    if (value >= WHOLE) {
      carry(target, length);
      value -= WHOLE;
    }
    for (; value > 0; value = (value % TOP) * 256) target[length++] = Math.floor(value / TOP);
    break;
  }
  while (length > 0 && target[length - 1] === 0) length--;
  return length;
}
