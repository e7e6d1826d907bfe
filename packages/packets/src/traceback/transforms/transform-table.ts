/**
 * Packets that a router changed: for the digest of the later form, the bytes of the earlier one, so
 * that a trace goes on with the packet as it was before NAT or fragmentation (SPIE's transform
 * lookup table).
 *
 * The memory is bounded: when it is full the oldest entry goes. An entry holds the invariant bytes
 * of the earlier packet, 64 to 84 of them by default.
 */

import type { ChangeKind } from './packet-forms.ts';

/** One change: the digest of a packet, and the packet from which a router made it. */
export interface Transform {
  readonly kind: ChangeKind;
  readonly low: number;
  readonly high: number;
  /** Invariant bytes of the earlier packet. */
  readonly earlier: Uint8Array;
  readonly timeS: number;
}

export class TransformTable {
  readonly #most: number;
  readonly #byDigest = new Map<string, Transform[]>();
  #size = 0;

  constructor(most = 65_536) {
    this.#most = most;
  }

  get size(): number {
    return this.#size;
  }

  /** Notes a change. Returns false if it was known. */
  add(transform: Transform): boolean {
    const name = nameOf(transform.low, transform.high);
    const known = this.#byDigest.get(name);
    if (known?.some(({ earlier }) => isSame(earlier, transform.earlier))) return false;
    this.#byDigest.delete(name);
    this.#byDigest.set(name, [...(known ?? []).slice(-3), transform]);
    this.#size += Math.min((known?.length ?? 0) + 1, 4) - (known?.length ?? 0);
    while (this.#size > this.#most) {
      const [oldest, entries] = this.#byDigest.entries().next().value as [string, Transform[]];
      this.#byDigest.delete(oldest);
      this.#size -= entries.length;
    }
    return true;
  }

  /** The changes that led to a digest in a span of time. */
  find(low: number, high: number, firstS: number, lastS: number): Transform[] {
    const found = this.#byDigest.get(nameOf(low, high)) ?? [];
    return found.filter(({ timeS }) => timeS >= firstS && timeS <= lastS);
  }
}

/** A packet with the given invariant bytes: masked fields are 0, and IPv4 has no options. */
export function packetFrom(invariant: Uint8Array): Uint8Array<ArrayBuffer> {
  const packet = Uint8Array.from(invariant);
  if (packet[0] === 0x40) packet[0] = 0x45;
  return packet;
}

function nameOf(low: number, high: number): string {
  return `${low | 0},${high | 0}`;
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
