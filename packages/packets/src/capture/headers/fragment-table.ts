/**
 * Ports of datagrams whose first fragment was seen, so that later fragments count for the same
 * flow.
 *
 * Memory is bounded: a fixed number of datagrams, of which the oldest is forgotten first. An entry
 * is used for 30 seconds of the capture's own time, because identifications come again (65,536 of
 * them per pair of hosts in IPv4), and 30 seconds is how long Linux waits for fragments. A fragment
 * that arrives before its first one keeps ports 0: its flow is not known yet, and holding packets
 * back would break the order. Nothing is reassembled.
 *
 * A datagram is named by addresses, identification and, in IPv4, the protocol (RFC 791; RFC 8200,
 * section 4.5, leaves the protocol out, because later fragments may not know it).
 */

import type { PacketBatch } from '../packet-batch.ts';
import { type HeaderBatch, KEY_WORDS, MARK } from './header-batch.ts';

/** Datagrams that are remembered. */
const MAX_DATAGRAMS = 4096;
const SECONDS = 30;

interface Datagram {
  /** Last two words of its flow key. */
  readonly ports: number;
  readonly protocol: number;
  /** Time of its first fragment. */
  readonly seconds: number;
}

export class FragmentTable {
  readonly #datagrams = new Map<string, Datagram>();

  /**
   * Remembers the ports of a first fragment, or gives a later one the ports of its datagram. False
   * if these are not known.
   */
  join({ seconds }: PacketBatch, headers: HeaderBatch, row: number): boolean {
    const { keys, marks, version } = headers;
    const start = row * KEY_WORDS;
    const word = start + (version[row] === 4 ? 2 : 8);
    const addresses = keys.subarray(start, word);
    const protocol = version[row] === 4 ? keys[word + 1] : 'IPv6';
    const name = `${addresses} ${protocol} ${headers.fragmentId[row]}`;
    if ((marks[row] & MARK.laterFragment) === 0) {
      if ((marks[row] & MARK.noPorts) === 0) {
        this.#set(name, { ports: keys[word], protocol: keys[word + 1], seconds: seconds[row] });
      }
      return true;
    }
    const datagram = this.#datagrams.get(name);
    if (datagram === undefined || Math.abs(seconds[row] - datagram.seconds) > SECONDS) return false;
    keys[word] = datagram.ports;
    keys[word + 1] = datagram.protocol;
    return true;
  }

  #set(name: string, datagram: Datagram): void {
    this.#datagrams.delete(name);
    if (this.#datagrams.size >= MAX_DATAGRAMS) {
      const [oldest] = this.#datagrams.keys();
      this.#datagrams.delete(oldest);
    }
    this.#datagrams.set(name, datagram);
  }
}
