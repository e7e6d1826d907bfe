/**
 * The network card that an operator names, by its name (`eth0`) or by one of its addresses. The
 * system knows both, but the calls for multicast take an address for IPv4 and a name for IPv6.
 */

import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

export interface NetworkCard {
  readonly name: string;
  /** The first address of the family that another machine can use. */
  readonly address: string;
}

type Cards = ReturnType<typeof networkInterfaces>;

/**
 * Finds the card of this machine. Throws a RangeError if none has that name or address, or if it
 * has no address of the family.
 */
export function findCard(
  text: string,
  family: 'IPv4' | 'IPv6',
  cards: Cards = networkInterfaces(),
): NetworkCard {
  const isWanted = (name: string, address: string) => (isIP(text) === 0 ? name === text : address === text);
  for (const [name, addresses = []] of Object.entries(cards)) {
    if (!addresses.some(({ address }) => isWanted(name, address))) continue;
    const usable = addresses.filter((each) => each.family === family && !/^fe[89ab]/i.test(each.address));
    const chosen = usable.find(({ address }) => address === text) ?? usable[0];
    if (chosen !== undefined) return { name, address: chosen.address };
  }
  const known = Object.entries(cards).map(
    ([name, addresses = []]) => `${name} (${addresses.map(({ address }) => address).join(', ')})`,
  );
  throw new RangeError(
    `Cannot use a network card: expected one with the name or address ${text} and with ${family}, got ${known.join(', ')}`,
  );
}
