/** Streams of packets for tests: flows by Zipf's law, in three orders. */

import { Random } from '@bloomery/testkit/statistics';

export const ORDERS = ['mixed', 'flow by flow', 'elephants last'] as const;

export interface TestPacket {
  readonly flow: number;
  readonly bytes: number;
}

export const SECRET: Uint8Array = Uint8Array.from({ length: 16 }, (_, i) => 17 * i + 3);

/** The key of a flow: two 64-bit words as of IPv4, five as of IPv6 for every seventh flow. */
export function keyOfFlow(flow: number): Int32Array {
  if (flow % 7 === 6) return Int32Array.of(5, flow, 0, 0, flow * 31, 1, 2, 3, 4, flow ^ 5);
  return Int32Array.of(2 | (4 << 8), flow, Math.imul(flow, 0x9e3779b1), 7);
}

/** Packets of `flows` flows, whose packets follow Zipf's law with s = 1. */
export function zipfPackets(
  count: number,
  flows: number,
  order: (typeof ORDERS)[number],
  seed: number,
): TestPacket[] {
  const random = new Random(seed);
  const draw = () => (random.bits() >>> 0) / 2 ** 32;
  const packets = Array.from({ length: count }, () => {
    const flow = Math.floor(flows ** draw()) - 1;
    return { flow, bytes: 40 + ((flow * 37 + random.below(3) * 400) % 1461) };
  });
  if (order === 'mixed') return packets;
  // Flow by flow: each flow's packets together, the flows in random order. Elephants last: the
  // flows in the order of falling numbers, so that the largest come at the end.
  const rank = Array.from({ length: flows }, () => draw());
  const place = (flow: number) => (order === 'flow by flow' ? rank[flow] : -flow);
  return packets.sort((a, b) => place(a.flow) - place(b.flow));
}

/** Bytes and packets of each flow. */
export function exactCounts(packets: readonly TestPacket[]): Map<number, { bytes: number; packets: number }> {
  const counts = new Map<number, { bytes: number; packets: number }>();
  for (const { flow, bytes } of packets) {
    const count = counts.get(flow) ?? { bytes: 0, packets: 0 };
    counts.set(flow, { bytes: count.bytes + bytes, packets: count.packets + 1 });
  }
  return counts;
}
