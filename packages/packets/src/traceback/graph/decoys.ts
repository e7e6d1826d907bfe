/**
 * Decoys: packets that were never sent, for testing collectors that say yes. They have the
 * addresses, the protocol and the length of the real one, so a collector that lies cannot tell them
 * apart. The identification, ports and data are random.
 */

import { invariantOf } from '../digests/one-packet.ts';
import { packetFrom } from '../transforms/transform-table.ts';

/** Makes decoys for a packet. `random` fills bytes with randomness. */
export function decoysOf(
  packet: Uint8Array,
  count: number,
  payloadBytes: number,
  random: (bytes: Uint8Array) => void,
): Uint8Array[] {
  return Array.from({ length: count }, () => {
    const decoy = packetFrom(invariantOf(packet, payloadBytes));
    const isIpv4 = decoy[0] >>> 4 === 4;
    random(decoy.subarray(isIpv4 ? 20 : 40));
    if (isIpv4) random(decoy.subarray(4, 6));
    return decoy;
  });
}
