/**
 * Decoys: packets that were never sent, for testing collectors that say yes.
 *
 * A decoy must look like a packet of the same conversation, or a collector that lies could tell the
 * trap from the question. So it keeps the addresses, the protocol, the length and all flags. What
 * tells packets of two hosts apart is drawn at random: the identification of IP, the ports (of TCP
 * the sender's), sequence numbers, and the order of the data. The data is moved in words of 16
 * bits, so text stays text, and checksums stay right; other changes are carried over into them (RFC
 * 1624). Packets without data differ in 32 random bits at least. A decoy that was sent by accident
 * would make an honest collector look like a liar, so data of few different words is made random.
 *
 * Where it breaks down: a collector that keeps whole packets knows which ones were sent. It can lie
 * about one of them, and its neighbours contradict it.
 */

import { MARK } from '../../capture/headers/header-batch.ts';
import { maskedPacket } from '../digests/masked-packet.ts';
import { decodeOne } from '../digests/one-packet.ts';

/** The parts of a packet that a decoy changes, as offsets from the IP header. */
interface Parts {
  /** Words that tell packets of one conversation apart. */
  readonly words: readonly number[];
  /** The checksum over words and data, or null. */
  readonly checksum: number | null;
  /** The first byte of the data. */
  readonly data: number;
}

const TCP = 6;
const UDP = 17;
/** Types of ICMP and ICMPv6 with an identifier and a sequence number: echo and its answer. */
const ECHO: Readonly<Record<number, readonly number[]>> = { 1: [8, 0], 58: [128, 129] };
const DONT_FRAGMENT = 0x40;
/** Data with fewer different words has too few orders. */
const LEAST_DIFFERENT = 6;
const MOST_RANDOM_WORDS = 4;

/** Makes decoys for a packet. `fill` fills bytes with randomness. */
export function decoysOf(packet: Uint8Array, count: number, fill: (bytes: Uint8Array) => void): Uint8Array[] {
  const form = maskedPacket(packet);
  const parts = partsOf(form);
  const words = new Uint16Array(1);
  const randomWord = () => {
    fill(new Uint8Array(words.buffer));
    return words[0];
  };
  return Array.from({ length: count }, () => decoyOf(form, parts, randomWord));
}

function decoyOf(form: Uint8Array, { words, checksum, data }: Parts, randomWord: () => number): Uint8Array {
  const decoy = Uint8Array.from(form);
  const isIpv4 = decoy[0] >>> 4 === 4;
  // RFC 6864: a packet that may not be fragmented can have the identification 0, as others of its
  // sender then do.
  if (isIpv4 && (wordAt(decoy, 4) !== 0 || (decoy[6] & DONT_FRAGMENT) === 0))
    setWord(decoy, 4, 1 + (randomWord() % 0xffff), null);
  for (const at of words) setWord(decoy, at, randomWord(), checksum);
  const length = (decoy.length - data) >> 1;
  const different = new Set(
    Array.from({ length: Math.max(0, length) }, (_, i) => wordAt(decoy, data + 2 * i)),
  );
  if (different.size < LEAST_DIFFERENT) {
    for (let i = 0; i < Math.min(length, MOST_RANDOM_WORDS); i++)
      setWord(decoy, data + 2 * i, randomWord(), checksum);
    return decoy;
  }
  for (let i = length - 1; i > 0; i--) {
    const from = data + 2 * (randomWord() % (i + 1));
    const word = wordAt(decoy, from);
    setWord(decoy, from, wordAt(decoy, data + 2 * i), null);
    setWord(decoy, data + 2 * i, word, null);
  }
  return decoy;
}

function partsOf(form: Uint8Array): Parts {
  const { headers } = decodeOne(form);
  const start = headers.payloadOffset[0];
  const isIpv4 = headers.version[0] === 4;
  const protocol = headers.keys[isIpv4 ? 3 : 9] & 0xff;
  const isWhole = (headers.marks[0] & (MARK.laterFragment | MARK.noPorts)) === 0;
  const fits = (bytes: number) => isWhole && start + bytes <= form.length;
  if (protocol === TCP && fits(20)) {
    const hasAnswer = wordAt(form, start + 8) !== 0 || wordAt(form, start + 10) !== 0;
    const numbers = hasAnswer ? [0, 4, 6, 8, 10] : [0, 4, 6];
    const head = Math.max(20, 4 * (form[start + 12] >> 4));
    return { words: numbers.map((at) => start + at), checksum: start + 16, data: start + head };
  }
  if (protocol === UDP && fits(8)) {
    // A sender may leave the checksum out over IPv4: then it is 0.
    const checksum = wordAt(form, start + 6) === 0 ? null : start + 6;
    return { words: [start, start + 2], checksum, data: start + 8 };
  }
  if (ECHO[protocol]?.includes(form[start]) && fits(8))
    return { words: [start + 4, start + 6], checksum: start + 2, data: start + 8 };
  return { words: [], checksum: null, data: start };
}

function wordAt(bytes: Uint8Array, at: number): number {
  return (bytes[at] << 8) | bytes[at + 1];
}

/** Sets a word, and carries the change over into a checksum by RFC 1624, equation 3. */
function setWord(bytes: Uint8Array, at: number, word: number, checksum: number | null): void {
  if (checksum !== null) {
    let sum = (~wordAt(bytes, checksum) & 0xffff) + (~wordAt(bytes, at) & 0xffff) + word;
    sum = (sum & 0xffff) + (sum >>> 16);
    sum = (sum & 0xffff) + (sum >>> 16);
    // UDP writes 0 as 0xffff, which is the same number here.
    setWord(bytes, checksum, sum === 0xffff ? 0xffff : ~sum & 0xffff, null);
  }
  bytes[at] = word >> 8;
  bytes[at + 1] = word & 255;
}
