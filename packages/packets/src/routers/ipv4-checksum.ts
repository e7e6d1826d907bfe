/**
 * The checksum of an IPv4 header after a change of one of its words, by RFC 1624, "[Eqn. 3]": HC' =
 * ~(~HC + ~m + m').
 */

/** Changes a byte of the header, and the checksum with it. */
export function changeByte(packet: Uint8Array, at: number, value: number): void {
  const word = at & ~1;
  const before = (packet[word] << 8) | packet[word + 1];
  packet[at] = value;
  const after = (packet[word] << 8) | packet[word + 1];
  const checksum = (packet[10] << 8) | packet[11];
  let sum = (~checksum & 0xffff) + (~before & 0xffff) + after;
  sum = (sum & 0xffff) + (sum >>> 16);
  sum = (sum & 0xffff) + (sum >>> 16);
  packet[10] = (~sum >> 8) & 255;
  packet[11] = ~sum & 255;
}
