/**
 * The bytes of a datagram: the topic after its length, then a signed envelope. A presence has an
 * empty topic. The mac of the envelope covers the group, its port and the topic as well, so a
 * datagram cannot be moved to another group or topic.
 *
 * A datagram has at most 1,400 bytes: an Ethernet frame carries 1,472 bytes of UDP over IPv4 and
 * 1,452 over IPv6, and the difference leaves room for a tunnel. A longer datagram would be cut into
 * IP fragments, of which one lost means all lost. We refused pieces of long messages for the same
 * reason: a message of ten pieces at 1 % of loss is lost in one case of ten. A publisher makes
 * messages that fit instead (`Transport.datagramBytes`), and others are fetched over HTTP.
 */

import { isTopic } from '../transport.ts';
import type { MulticastGroup } from './multicast-group.ts';

/** The protocol of docs/spec/peer-multicast.md, as macs cover it. */
export const MULTICAST_PROTOCOL = 'bloomery-multicast 1';

export const MOST_DATAGRAM_BYTES = 1400;

/** A datagram in its two parts. */
export interface Datagram {
  /** The topic, or an empty text in a presence. */
  readonly topic: string;
  readonly envelope: Uint8Array;
}

/** The text that the mac of an envelope covers beside its bytes. */
export function subjectOf({ text }: Pick<MulticastGroup, 'text'>, topic: string): string {
  return `${text} ${topic}`;
}

/** Bytes of a datagram beside its envelope. */
export function datagramOverhead(topic: string): number {
  return 1 + topic.length;
}

export function encodeDatagram({ topic, envelope }: Datagram): Buffer {
  const bytes = Buffer.alloc(datagramOverhead(topic) + envelope.length);
  bytes[0] = topic.length;
  bytes.write(topic, 1, 'latin1');
  bytes.set(envelope, 1 + topic.length);
  return bytes;
}

/** Reads a datagram. Null if it is none. The envelope is a view of the bytes. */
export function decodeDatagram(bytes: Buffer): Datagram | null {
  if (bytes.length === 0 || bytes.length > MOST_DATAGRAM_BYTES) return null;
  const end = 1 + bytes[0];
  const topic = bytes.toString('latin1', 1, end);
  if (end > bytes.length || (topic !== '' && !isTopic(topic))) return null;
  return { topic, envelope: bytes.subarray(end) };
}
