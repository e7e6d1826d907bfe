/**
 * The routes of a router: the longest prefix that holds the destination decides.
 *
 * One map for each length of a prefix, asked from the longest to the shortest. A trie would ask
 * less often; a user-space router has tens of routes of three or four lengths, and then the maps
 * are as fast and need no code of their own.
 */

/** A prefix such as 10.77.0.0/16 or 2001:db8::/32, as bytes and bits. */
interface Prefix {
  readonly bytes: Uint8Array;
  readonly bits: number;
}

export class ForwardingTable<Port> {
  /** Lengths of prefixes, longest first, with the ports by the text of the masked address. */
  readonly #lengths: { bits: number; byteLength: number; ports: Map<string, Port> }[] = [];

  /** Adds a route, or replaces the one with the same prefix: `add('10.77.0.0/16', port)`. */
  add(prefix: string, port: Port): void {
    const { bytes, bits } = parsePrefix(prefix);
    let length = this.#lengths.find((one) => one.bits === bits && one.byteLength === bytes.length);
    if (length === undefined) {
      length = { bits, byteLength: bytes.length, ports: new Map() };
      this.#lengths.push(length);
      this.#lengths.sort((a, b) => b.bits - a.bits);
    }
    length.ports.set(masked(bytes, bits), port);
  }

  /** The port for a destination of 4 or 16 bytes, or undefined if no route holds it. */
  find(destination: Uint8Array): Port | undefined {
    for (const { bits, byteLength, ports } of this.#lengths) {
      if (byteLength !== destination.length) continue;
      const port = ports.get(masked(destination, bits));
      if (port !== undefined) return port;
    }
    return undefined;
  }
}

function masked(address: Uint8Array, bits: number): string {
  let text = '';
  for (let i = 0; 8 * i < bits; i++) {
    const kept = Math.min(8, bits - 8 * i);
    text += String.fromCharCode(address[i] & (0xff00 >> kept));
  }
  return text;
}

function parsePrefix(text: string): Prefix {
  const [address = '', bits = '', ...more] = text.split('/');
  const bytes = address.includes(':') ? parseIpv6(address) : parseIpv4(address);
  const length = /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
  if (bytes === null || more.length > 0 || !(length <= 8 * bytes.length)) {
    throw new RangeError(
      `Cannot add a route: expected a prefix such as 10.0.0.0/8 or 2001:db8::/32, got ${text}`,
    );
  }
  return { bytes, bits: length };
}

function parseIpv4(text: string): Uint8Array | null {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256))
    return null;
  return Uint8Array.from(parts, Number);
}

function parseIpv6(text: string): Uint8Array | null {
  const halves = text.split('::').map((half) => (half === '' ? [] : half.split(':')));
  const [front = [], back = []] = halves;
  const gap = halves.length === 2 ? 8 - front.length - back.length : 0;
  if (halves.length > 2 || gap < 0 || (halves.length === 2 && gap === 0)) return null;
  const groups = [...front, ...Array.from({ length: gap }, () => '0'), ...back];
  if (groups.length !== 8 || !groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return null;
  return Uint8Array.from(
    groups.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]),
  );
}
