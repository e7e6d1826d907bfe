/**
 * The fields that make a flow: any of source, destination, ports and protocol, addresses by a
 * prefix if wanted. `src/24` groups IPv4 sources by 24 bits and leaves IPv6 addresses whole,
 * `src/56` groups IPv6 sources and leaves IPv4 addresses whole, `src/24/56` does both.
 */

export interface AddressPrefix {
  /** Bits of an IPv4 address that count, 0 to 32. */
  readonly ipv4: number;
  /** Bits of an IPv6 address that count, 0 to 128. */
  readonly ipv6: number;
}

export interface FlowFields {
  /** Bits of the source that count, or null if it is not part of the flow. */
  readonly source: AddressPrefix | null;
  readonly destination: AddressPrefix | null;
  readonly sourcePort: boolean;
  readonly destinationPort: boolean;
  readonly protocol: boolean;
}

/** Names of the fields in texts, in the order of their columns. */
const FIELD_NAMES = ['src', 'sport', 'dst', 'dport', 'proto'] as const;
export type FieldName = (typeof FIELD_NAMES)[number];

/** Source, destination, both ports and the protocol: what most tools call a flow. */
export const FIVE_TUPLE: FlowFields = {
  source: { ipv4: 32, ipv6: 128 },
  destination: { ipv4: 32, ipv6: 128 },
  sourcePort: true,
  destinationPort: true,
  protocol: true,
};

/** Reads a list such as `src,dst` or `src/24,dport`. */
export function parseFlowFields(text: string): FlowFields {
  const parts = text.split(',').map((part) => part.trim());
  const prefixes = new Map<string, AddressPrefix>();
  for (const part of parts) {
    const [name, ...lengths] = part.split('/');
    const isAddress = name === 'src' || name === 'dst';
    const known = (FIELD_NAMES as readonly string[]).includes(name);
    if (!known || prefixes.has(name) || (lengths.length > 0 && !isAddress)) {
      throw new RangeError(
        `Cannot use flow fields: expected each of src, dst, sport, dport, proto at most once, or a prefix such as src/24, got ${JSON.stringify(part)}`,
      );
    }
    prefixes.set(name, prefixOf(part, lengths));
  }
  return {
    source: prefixes.get('src') ?? null,
    destination: prefixes.get('dst') ?? null,
    sourcePort: prefixes.has('sport'),
    destinationPort: prefixes.has('dport'),
    protocol: prefixes.has('proto'),
  };
}

/** The names of the fields of a flow. */
export function namesOfFields(fields: FlowFields): FieldName[] {
  const has: Record<FieldName, boolean> = {
    src: fields.source !== null,
    sport: fields.sourcePort,
    dst: fields.destination !== null,
    dport: fields.destinationPort,
    proto: fields.protocol,
  };
  return FIELD_NAMES.filter((name) => has[name]);
}

function prefixOf(part: string, lengths: readonly string[]): AddressPrefix {
  const [first, second] = lengths.map((text) => (/^\d{1,3}$/.test(text) ? Number(text) : Number.NaN));
  const prefix =
    second !== undefined
      ? { ipv4: first, ipv6: second }
      : first === undefined
        ? { ipv4: 32, ipv6: 128 }
        : first <= 32
          ? { ipv4: first, ipv6: 128 }
          : { ipv4: 32, ipv6: first };
  if (lengths.length > 2 || !(prefix.ipv4 <= 32 && prefix.ipv6 <= 128)) {
    throw new RangeError(
      `Cannot use flow fields: expected a prefix such as src/24 or src/24/56, got ${JSON.stringify(part)}`,
    );
  }
  return prefix;
}
