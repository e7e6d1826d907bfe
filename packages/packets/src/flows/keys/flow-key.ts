/**
 * Keys of flows in the table: from the words of a packet's header, by the fields of a flow, and
 * back to addresses and ports.
 *
 *     word 0   number of 64-bit words | version << 8 | protocol << 16
 *     word 1   source port << 16 | destination port
 *     then     source, destination: one word each for IPv4, four each for IPv6
 *
 * Fields that are not part of the flow are 0. Flows without addresses have version 0 and two empty
 * words, so that IPv4 and IPv6 packets to one port are one flow.
 */

import { formatAddress } from '../../capture/index.ts';
import { type AddressPrefix, type FlowFields, parseFlowFields } from './flow-fields.ts';
import { parseAddress } from './parse-address.ts';

/** A flow for people: fields that are not part of it are null. */
export interface FlowKey {
  /** Text of the address, with its prefix length if that is shorter than the address. */
  readonly source: string | null;
  readonly destination: string | null;
  readonly sourcePort: number | null;
  readonly destinationPort: number | null;
  readonly protocol: number | null;
}

/** Writes keys for one choice of fields. */
export class KeyWriter {
  /**
   * The choice as words, for kernel/packet-stager.ts: 1 for flows without addresses, masks of the
   * protocol, the ports, source and destination of IPv4, then of IPv6.
   */
  readonly masks: Int32Array;
  readonly #short: boolean;
  readonly #protocolMask: number;
  readonly #portMask: number;
  readonly #source4: number;
  readonly #destination4: number;
  readonly #source6: Int32Array;
  readonly #destination6: Int32Array;

  constructor(fields: FlowFields) {
    this.#short = fields.source === null && fields.destination === null;
    this.#protocolMask = fields.protocol ? 0xff : 0;
    this.#portMask = (fields.sourcePort ? 0xffff0000 : 0) | (fields.destinationPort ? 0xffff : 0);
    this.#source4 = maskOf(fields.source?.ipv4 ?? 0, 0);
    this.#destination4 = maskOf(fields.destination?.ipv4 ?? 0, 0);
    this.#source6 = Int32Array.from([0, 1, 2, 3], (i) => maskOf(fields.source?.ipv6 ?? 0, i));
    this.#destination6 = Int32Array.from([0, 1, 2, 3], (i) => maskOf(fields.destination?.ipv6 ?? 0, i));
    this.masks = Int32Array.of(
      this.#short ? 1 : 0,
      this.#protocolMask,
      this.#portMask,
      this.#source4,
      this.#destination4,
      ...this.#source6,
      ...this.#destination6,
    );
  }

  /**
   * Writes the key of a packet whose header words begin at `from`: source, destination, ports,
   * version << 8 | protocol. Returns the place after the key.
   */
  write(header: Uint32Array, from: number, version: number, out: Int32Array, at: number): number {
    if (version === 4) {
      const protocol = (header[from + 3] & this.#protocolMask) << 16;
      out[at] = this.#short ? 2 | protocol : 2 | (4 << 8) | protocol;
      out[at + 1] = header[from + 2] & this.#portMask;
      out[at + 2] = header[from] & this.#source4;
      out[at + 3] = header[from + 1] & this.#destination4;
      return at + 4;
    }
    const protocol = (header[from + 9] & this.#protocolMask) << 16;
    out[at] = this.#short ? 2 | protocol : 5 | (6 << 8) | protocol;
    out[at + 1] = header[from + 8] & this.#portMask;
    if (this.#short) {
      out[at + 2] = 0;
      out[at + 3] = 0;
      return at + 4;
    }
    for (let i = 0; i < 4; i++) {
      out[at + 2 + i] = header[from + i] & this.#source6[i];
      out[at + 6 + i] = header[from + 4 + i] & this.#destination6[i];
    }
    return at + 10;
  }
}

/** Addresses and ports of a key. `rename` replaces addresses, for `--anonymise`. */
export function readFlowKey(
  key: Int32Array,
  fields: FlowFields,
  rename: (words: Int32Array) => Int32Array = (words) => words,
): FlowKey {
  const size = key.length === 10 ? 4 : 1;
  const address = (prefix: AddressPrefix | null, at: number) => {
    if (prefix === null) return null;
    const bits = size === 1 ? prefix.ipv4 : prefix.ipv6;
    const words = rename(key.slice(at, at + size)).map((word, i) => word & maskOf(bits, i));
    return formatAddress(size === 1 ? 4 : 6, words, 0) + (bits < 32 * size ? `/${bits}` : '');
  };
  return {
    source: address(fields.source, 2),
    destination: address(fields.destination, 2 + size),
    sourcePort: fields.sourcePort ? key[1] >>> 16 : null,
    destinationPort: fields.destinationPort ? key[1] & 0xffff : null,
    protocol: fields.protocol ? (key[0] >>> 16) & 0xff : null,
  };
}

export interface NamedFlow {
  readonly fields: FlowFields;
  readonly key: Int32Array;
}

/**
 * Reads a flow such as `src=10.0.0.7,dport=443,proto=6` or `src=10.0.0.0/8`. Its fields are those
 * that it names.
 */
export function parseFlow(text: string): NamedFlow {
  const values = new Map<string, string>();
  for (const part of text.split(',')) {
    const [name, value, ...more] = part.trim().split('=');
    if (value === undefined || value === '' || more.length > 0 || values.has(name)) throw wrongFlow(part);
    values.set(name, value);
  }
  const addresses = ['src', 'dst'].map((name) => addressOf(values.get(name)));
  const named = [...values.keys()].map((name) => {
    const length = name === 'src' ? addresses[0]?.suffix : name === 'dst' ? addresses[1]?.suffix : '';
    return `${name}${length ?? ''}`;
  });
  const fields = parseFlowFields(named.join(','));
  const sizes = new Set(
    addresses.flatMap((address) => (address === undefined ? [] : [address.words.length])),
  );
  if (sizes.size > 1) throw wrongFlow(text);
  const isIpv6 = sizes.has(4);
  const empty = isIpv6 ? [0, 0, 0, 0] : [0];
  const header = Uint32Array.of(
    ...(addresses[0]?.words ?? empty),
    ...(addresses[1]?.words ?? empty),
    numberOf(values.get('sport'), 0xffff) * 65536 + numberOf(values.get('dport'), 0xffff),
    numberOf(values.get('proto'), 0xff),
  );
  const key = new Int32Array(10);
  const end = new KeyWriter(fields).write(header, 0, isIpv6 ? 6 : 4, key, 0);
  return { fields, key: key.slice(0, end) };
}

function addressOf(text: string | undefined): { words: number[]; suffix: string } | undefined {
  if (text === undefined) return undefined;
  const [address, length, ...more] = text.split('/');
  const words = parseAddress(address);
  if (words === undefined || more.length > 0) throw wrongFlow(text);
  if (length === undefined) return { words, suffix: '' };
  if (!/^\d{1,3}$/.test(length) || Number(length) > 32 * words.length) throw wrongFlow(text);
  return { words, suffix: words.length === 1 ? `/${length}` : `/32/${length}` };
}

function numberOf(text: string | undefined, most: number): number {
  if (text === undefined) return 0;
  const number = /^\d{1,5}$/.test(text) ? Number(text) : (PROTOCOL_NUMBERS.get(text.toLowerCase()) ?? -1);
  if (number < 0 || number > most) throw wrongFlow(text);
  return number;
}

function wrongFlow(got: string): RangeError {
  return new RangeError(
    `Cannot read a flow: expected fields such as src=10.0.0.7,dport=443,proto=tcp, got ${JSON.stringify(got)}`,
  );
}

/** Names of the protocols that captures mostly hold (IANA, Assigned Internet Protocol Numbers). */
const PROTOCOL_NUMBERS: ReadonlyMap<string, number> = new Map([
  ['icmp', 1],
  ['igmp', 2],
  ['tcp', 6],
  ['udp', 17],
  ['gre', 47],
  ['esp', 50],
  ['icmp6', 58],
  ['ospf', 89],
  ['pim', 103],
  ['sctp', 132],
]);
const PROTOCOL_NAMES = new Map([...PROTOCOL_NUMBERS].map(([name, number]) => [number, name]));

/** The name of a protocol, or its number. */
export function protocolName(protocol: number): string {
  return PROTOCOL_NAMES.get(protocol) ?? String(protocol);
}

/** Mask of the bits of word `index` that belong to a prefix of `bits` bits. */
function maskOf(bits: number, index: number): number {
  const left = bits - 32 * index;
  return left >= 32 ? -1 : left <= 0 ? 0 : -1 << (32 - left);
}
