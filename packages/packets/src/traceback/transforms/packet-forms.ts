/**
 * Other packets that one packet shows: the packet inside a tunnel, and the packet that an ICMP
 * error quotes. Both are in the bytes themselves, so a question needs no memory of any router.
 *
 * An ICMP error comes from a router that dropped another packet, and its trace ends there. The
 * quoted packet goes on towards the sender that caused the error. RFC 1812 asks routers to quote
 * as much as fits into 576 bytes; a router that quotes 8 bytes of the payload, as RFC 792 allows,
 * gives too few for a digest, and the form is left out.
 */

import { KEY_WORDS, MARK } from '../../capture/headers/header-batch.ts';
import { decodeOne, invariantOf } from '../digests/one-packet.ts';
import { TracebackError } from '../traceback-error.ts';

/** The way in which a packet became another one. */
export type ChangeKind = 'nat' | 'fragment' | 'tunnel' | 'icmp';

/** A packet, from its IP header on, and how the packet at hand shows it. */
export interface PacketForm {
  readonly kind: ChangeKind;
  readonly packet: Uint8Array;
}

const ICMP = 0x401;
const ICMPV6 = 0x600 | 58;
/** Errors of ICMP that quote a packet: unreachable, source quench, redirect, time, parameter. */
const ICMP_ERRORS: readonly number[] = [3, 4, 5, 11, 12];
/** Bytes of ICMP before the quoted packet. */
const ICMP_BYTES = 8;

/** The packets that a packet shows, each with enough bytes for a digest. */
export function formsOf(packet: Uint8Array, payloadBytes: number): PacketForm[] {
  const forms: PacketForm[] = [];
  const inner = innerOf(packet);
  if (inner !== null) forms.push({ kind: 'tunnel', packet: inner });
  const quoted = quotedOf(packet);
  if (quoted !== null) forms.push({ kind: 'icmp', packet: quoted });
  return forms.filter((form) => canDigest(form.packet, payloadBytes));
}

/** The innermost packet of a tunnel, or null. */
function innerOf(packet: Uint8Array): Uint8Array | null {
  const { headers } = decodeOne(packet, { tunnels: ['gre', 'vxlan', 'ip'] });
  return (headers.marks[0] & MARK.inner) === 0 ? null : packet.subarray(headers.ipOffset[0]);
}

/** The packet that an ICMP error quotes, or null. */
function quotedOf(packet: Uint8Array): Uint8Array | null {
  const { headers } = decodeOne(packet);
  const isIpv4 = headers.version[0] === 4;
  const [ports, protocol] = headers.keys.subarray(isIpv4 ? 2 : 8, KEY_WORDS);
  const type = ports >>> 8;
  const isError = isIpv4
    ? protocol === ICMP && ICMP_ERRORS.includes(type)
    : protocol === ICMPV6 && type < 128;
  const start = headers.payloadOffset[0] + ICMP_BYTES;
  return isError && type > 0 && start < packet.length ? packet.subarray(start) : null;
}

function canDigest(packet: Uint8Array, payloadBytes: number): boolean {
  try {
    invariantOf(packet, payloadBytes);
    return true;
  } catch (error) {
    if (error instanceof TracebackError) return false;
    throw error;
  }
}
