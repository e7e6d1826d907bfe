/**
 * Fields of up to 53 bits at any bit of a byte array, least significant bit first: raw digits of
 * numbers, positions of hash lists, slots of tables. Byte by byte, because fields are read and
 * written once per message. The kernel has faster loops for lookups.
 */

/** Sets a field of `width` bits, which must hold zeros so far. */
export function putField(bytes: Uint8Array, at: number, width: number, value: number): void {
  let rest = value;
  for (let done = 0; done < width; ) {
    const shift = (at + done) % 8;
    const taken = Math.min(8 - shift, width - done);
    const unit = 1 << taken;
    bytes[Math.floor((at + done) / 8)] |= (rest % unit) << shift;
    rest = Math.floor(rest / unit);
    done += taken;
  }
}

export function getField(bytes: Uint8Array, at: number, width: number): number {
  let value = 0;
  let unit = 1;
  for (let done = 0; done < width; ) {
    const shift = (at + done) % 8;
    const taken = Math.min(8 - shift, width - done);
    value += ((bytes[Math.floor((at + done) / 8)] >>> shift) & ((1 << taken) - 1)) * unit;
    unit *= 1 << taken;
    done += taken;
  }
  return value;
}
