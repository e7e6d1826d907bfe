/** Reads IP addresses: 32-bit words in written order, so that 10.0.0.1 is [0x0a000001]. */

/** Words of an address: one for IPv4, four for IPv6. Undefined if the text is no address. */
export function parseAddress(text: string): number[] | undefined {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text);
}

function parseIpv4(text: string): number[] | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255)) {
    return undefined;
  }
  return [parts.reduce((word, part) => word * 256 + Number(part), 0)];
}

function parseIpv6(text: string): number[] | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const groups = halves.map(groupsOf);
  const [head, tail = []] = groups;
  if (head === undefined || groups.includes(undefined)) return undefined;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  const all = [...head, ...new Array<number>(halves.length === 1 ? 0 : missing).fill(0), ...tail];
  return [0, 2, 4, 6].map((i) => all[i] * 65536 + all[i + 1]);
}

/** Groups of 16 bits; the last two may be written as an IPv4 address. */
function groupsOf(text: string): number[] | undefined {
  if (text === '') return [];
  const parts = text.split(':');
  const last = parts.at(-1)!;
  const tail = last.includes('.') ? parseIpv4(last) : [];
  const groups = tail?.length ? parts.slice(0, -1) : parts;
  if (tail === undefined || !groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  const ends = tail.flatMap((word) => [Math.floor(word / 65536), word % 65536]);
  return [...groups.map((group) => Number.parseInt(group, 16)), ...ends];
}
