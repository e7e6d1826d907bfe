/**
 * IP addresses as numbers, so that they can be compared with ranges: an IPv4 address is one 32-bit
 * word, an IPv6 address four.
 *
 * There are two parsers, because there are two kinds of input. `parseAddress` reads addresses from
 * a socket or the resolver, only in the forms that `net.isIP` accepts. `parseHostLiteral` reads the
 * host that an untrusted client wrote in a URL. There `127.1`, `0x7f.1`, `0177.0.0.1` and
 * `2130706433` also mean 127.0.0.1, because getaddrinfo accepts them (measured: all four connect to
 * loopback).
 *
 * An IPv4-mapped address (::ffff:a.b.c.d, RFC 4291, 2.5.5.2) is read as the IPv4 address: that is
 * where the socket connects to, and how a dual-stack server sees IPv4 clients. A zone (`%eth0`) is
 * dropped, because it names an interface and not an address.
 */

import { isIPv4, isIPv6 } from 'node:net';

export interface IpAddress {
  readonly family: 4 | 6;
  /** Unsigned 32-bit words, most significant first: one for IPv4, four for IPv6. */
  readonly words: readonly number[];
}

/** The address, or null if the text is not one. */
export function parseAddress(text: string): IpAddress | null {
  if (isIPv4(text)) return { family: 4, words: [dottedToWord(text)] };
  if (!isIPv6(text)) return null;
  const words = readIpv6(text);
  if (words[0] === 0 && words[1] === 0 && words[2] === 0xffff) return { family: 4, words: [words[3]!] };
  return { family: 6, words };
}

/**
 * The meaning of the host part of a URL: an address (in any form that a resolver accepts as one),
 * `null` for a name, or `'invalid'` for text that looks like a number but is not an address
 * (`1.2.3.4.5`, `256.1.1.1`). The URL standard refuses these as well (https://url.spec.whatwg.org,
 * "ends in a number"), and resolvers interpret them differently from system to system.
 */
export function parseHostLiteral(host: string): IpAddress | 'invalid' | null {
  if (host.startsWith('[')) {
    if (!host.endsWith(']')) return 'invalid';
    const inside = host.slice(1, -1);
    return isIPv6(inside) ? parseAddress(inside) : 'invalid';
  }
  if (host.includes(':')) return isIPv6(host) ? parseAddress(host) : 'invalid';
  // A trailing dot is the root of the DNS, so 127.0.0.1. is a number like 127.0.0.1
  const labels = (host.endsWith('.') ? host.slice(0, -1) : host).split('.');
  const last = labels[labels.length - 1]!;
  if (!/^(?:\d+|0[xX][0-9a-fA-F]*)$/.test(last)) return null;
  if (labels.length > 4) return 'invalid';
  let word = 0;
  for (let i = 0; i < labels.length; i++) {
    const part = readLegacyNumber(labels[i]!);
    // The last part fills all remaining bytes: 127.1 is 127.0.0.1, as in inet_aton.
    const room = i === labels.length - 1 ? 256 ** (5 - labels.length) : 256;
    if (part < 0 || part >= room) return 'invalid';
    word = i === labels.length - 1 ? word * room + part : word * 256 + part;
  }
  return { family: 4, words: [word] };
}

/** The usual notation, for messages. */
export function formatAddress(address: IpAddress): string {
  if (address.family === 4) {
    const word = address.words[0]!;
    return `${word >>> 24}.${(word >>> 16) & 255}.${(word >>> 8) & 255}.${word & 255}`;
  }
  const groups = address.words.flatMap((word) => [(word >>> 16).toString(16), (word & 0xffff).toString(16)]);
  // The longest run of zero groups becomes "::" (RFC 5952, 4.2).
  let best = -1;
  let bestLength = 1;
  for (let i = 0; i < 8; i++) {
    let length = 0;
    while (groups[i + length] === '0') length++;
    if (length > bestLength) [best, bestLength] = [i, length];
  }
  if (best < 0) return groups.join(':');
  return `${groups.slice(0, best).join(':')}::${groups.slice(best + bestLength).join(':')}`;
}

function dottedToWord(text: string): number {
  let word = 0;
  for (const part of text.split('.')) word = word * 256 + Number(part);
  return word;
}

/** Parses a text that has passed `isIPv6`. */
function readIpv6(text: string): number[] {
  const percent = text.indexOf('%');
  let rest = percent < 0 ? text : text.slice(0, percent);
  const colon = rest.lastIndexOf(':');
  if (rest.includes('.', colon)) {
    const word = dottedToWord(rest.slice(colon + 1));
    rest = `${rest.slice(0, colon + 1)}${(word >>> 16).toString(16)}:${(word & 0xffff).toString(16)}`;
  }
  const [head = '', tail] = rest.split('::') as [string, string?];
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right];
  const words: number[] = [];
  for (let i = 0; i < 8; i += 2) {
    words.push(Number.parseInt(groups[i]!, 16) * 65536 + Number.parseInt(groups[i + 1]!, 16));
  }
  return words;
}

/**
 * Parses a decimal, octal (leading 0) or hexadecimal (leading 0x) number like inet_aton. Returns -1
 * if the text is none of these.
 */
function readLegacyNumber(text: string): number {
  // 0x alone is 0 to the URL standard. The lengths leave room for leading zeros and for numbers
  // above 32 bits, which the caller refuses.
  if (/^0[xX][0-9a-fA-F]{0,16}$/.test(text))
    return text.length === 2 ? 0 : Number.parseInt(text.slice(2), 16);
  if (/^0[0-7]{1,22}$/.test(text)) return Number.parseInt(text, 8);
  if (/^(?:0|[1-9]\d{0,15})$/.test(text)) return Number(text);
  return -1;
}
