/**
 * The loops that were found, by the destinations of their packets: a loop is a fault of the routes
 * to a prefix, and thousands of packets run into it.
 *
 * Destinations are gathered by a fixed prefix (24 bits in IPv4, 48 in IPv6). Each loop shows the
 * longest prefix that all its destinations have in common, so a single host appears as such. The
 * list is bounded: beyond `most` prefixes further ones are only counted.
 */

/** A looping sighting of a packet. */
export interface LoopSighting {
  readonly version: 4 | 6;
  /** The source address as words in written order: one in IPv4, four in IPv6. */
  readonly source: readonly number[];
  readonly destination: readonly number[];
  readonly timeS: number;
  readonly ttl: number;
  readonly firstTtl: number;
  /** Whether this packet was not known to loop before. */
  readonly isNewPacket: boolean;
  /** The drop of the TTL over a whole turn, or 0 if it is not known. */
  readonly drop: number;
}

/** A loop, as it is reported. */
export interface Loop {
  readonly version: 4 | 6;
  /** The longest prefix of all destinations. */
  readonly destination: readonly number[];
  readonly prefixBits: number;
  /** The source of the first packet, as an example. */
  readonly source: readonly number[];
  /** Different packets that looped. */
  readonly packets: number;
  /** Their sightings beyond the first two of each: the packets that the loop cost this link. */
  readonly sightings: number;
  readonly firstS: number;
  readonly lastS: number;
  readonly highestTtl: number;
  readonly lowestTtl: number;
  /** Hops of a turn, by the most frequent drop of the TTL, or null if no turn was seen. */
  readonly length: number | null;
  /** Turns that were seen, of all packets together. */
  readonly turns: number;
  /** ICMP messages "time exceeded" about packets to these destinations. */
  readonly expired: number;
}

interface Entry {
  readonly version: 4 | 6;
  readonly source: readonly number[];
  readonly destination: number[];
  readonly drops: Uint32Array;
  prefixBits: number;
  packets: number;
  sightings: number;
  firstS: number;
  lastS: number;
  highestTtl: number;
  lowestTtl: number;
  expired: number;
}

export interface LoopListOptions {
  readonly ipv4Bits: number;
  readonly ipv6Bits: number;
  /** Prefixes that are listed at most. */
  readonly most: number;
}

export class LoopList {
  readonly #options: LoopListOptions;
  readonly #entries = new Map<string, Entry>();
  #unlisted = 0;

  constructor(options: LoopListOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Sightings of packets to prefixes that the list had no room for. */
  get unlisted(): number {
    return this.#unlisted;
  }

  add(sighting: LoopSighting): void {
    const { version, source, destination, timeS, ttl, firstTtl } = sighting;
    const key = this.#keyOf(version, destination);
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      if (this.#entries.size >= this.#options.most) {
        this.#unlisted++;
        return;
      }
      entry = {
        version,
        source,
        destination: [...destination],
        drops: new Uint32Array(256),
        prefixBits: 32 * destination.length,
        packets: 0,
        sightings: 0,
        firstS: timeS,
        lastS: timeS,
        highestTtl: firstTtl,
        lowestTtl: ttl,
        expired: 0,
      };
      this.#entries.set(key, entry);
    }
    if (sighting.isNewPacket) entry.packets++;
    entry.sightings++;
    entry.firstS = Math.min(entry.firstS, timeS);
    entry.lastS = Math.max(entry.lastS, timeS);
    entry.highestTtl = Math.max(entry.highestTtl, firstTtl);
    entry.lowestTtl = Math.min(entry.lowestTtl, ttl);
    entry.drops[sighting.drop]++;
    shorten(entry, destination);
  }

  /** Counts an ICMP message about a packet to this destination, if that is in a loop. */
  addExpired(version: 4 | 6, destination: readonly number[]): void {
    const entry = this.#entries.get(this.#keyOf(version, destination));
    if (entry !== undefined) entry.expired++;
  }

  /** The loops, those with the most sightings first. */
  loops(): Loop[] {
    return [...this.#entries.values()].map(reported).sort((a, b) => b.sightings - a.sightings);
  }

  #keyOf(version: 4 | 6, destination: readonly number[]): string {
    const bits = version === 4 ? this.#options.ipv4Bits : this.#options.ipv6Bits;
    return `${version} ${maskWords(destination, bits).join(' ')}`;
  }
}

function reported({ drops, ...entry }: Entry): Loop {
  let turns = 0;
  let best = 0;
  for (let drop = 1; drop < drops.length; drop++) {
    turns += drops[drop];
    if (best === 0 ? drops[drop] > 0 : drops[drop] > drops[best]) best = drop;
  }
  // A packet cannot come back after one hop: where the capture has no link header, the way there
  // and the way back look alike, and half a turn is seen.
  const length = turns === 0 ? null : Math.max(best, 2);
  return { ...entry, destination: maskWords(entry.destination, entry.prefixBits), length, turns };
}

/** Shortens the common prefix so that it holds another destination. */
function shorten(entry: Entry, destination: readonly number[]): void {
  for (const [i, word] of destination.entries()) {
    const different = (word ^ entry.destination[i]) >>> 0;
    if (different === 0) continue;
    entry.prefixBits = Math.min(entry.prefixBits, 32 * i + Math.clz32(different));
    return;
  }
}

/** The first `bits` bits of an address. */
function maskWords(words: readonly number[], bits: number): number[] {
  return words.map((word, i) => {
    const kept = Math.max(0, Math.min(32, bits - 32 * i));
    return kept === 0 ? 0 : (word & (-1 << (32 - kept))) >>> 0;
  });
}
