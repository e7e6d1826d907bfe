/**
 * The addresses of a header field such as `To`: RFC 5322, 3.4, address-list, with quoted names,
 * comments, groups and what mail programs write besides. Texts that are no address are left out.
 */

import { normalizeAddress } from './normalize-address.ts';

/** Fields with more characters than this are cut: a list of 30,000 addresses. */
const MOST_CHARACTERS = 1_000_000;

export function parseAddressList(value: string): string[] {
  const addresses: string[] = [];
  for (const mailbox of mailboxes(value.slice(0, MOST_CHARACTERS))) {
    const address = normalizeAddress(mailbox);
    if (address !== null) addresses.push(address);
  }
  return addresses;
}

/** Cuts at commas and semicolons, outside of quotes, brackets and comments, which are removed. */
function mailboxes(value: string): string[] {
  const found: string[] = [];
  let mailbox = '';
  let inQuotes = false;
  let inBrackets = false;
  let comments = 0;
  for (let i = 0; i < value.length; i++) {
    const character = value[i];
    if (character === '\\' && (inQuotes || comments > 0)) {
      if (comments === 0) mailbox += value.slice(i, i + 2);
      i++;
    } else if (comments > 0) {
      if (character === '(') comments++;
      else if (character === ')') comments--;
    } else if (inQuotes) {
      mailbox += character;
      inQuotes = character !== '"';
    } else if (character === '(') comments++;
    else if (character === ',' || character === ';') {
      // A comma in brackets is a route of RFC 822: <@a,@b:ann@c>. It is cut, and its end is kept.
      if (inBrackets) mailbox = '<';
      else {
        found.push(mailbox);
        mailbox = '';
      }
    } else if (character === ':' && !isPartOfAddress(value, i)) {
      // The name of a group ends here, or a route.
      mailbox = inBrackets ? '<' : '';
    } else {
      mailbox += character;
      if (character === '"') inQuotes = true;
      else if (character === '<') inBrackets = true;
      else if (character === '>') inBrackets = false;
    }
  }
  found.push(mailbox);
  return found;
}

/**
 * Whether the colon at a place belongs to an address: that of a link, or one of IPv6. It looks at a
 * few characters, because a field of a hostile mail may have nothing but colons in it.
 */
function isPartOfAddress(value: string, colon: number): boolean {
  const before = value.slice(Math.max(0, colon - MOST_BEFORE_COLON), colon);
  return /(?:mailto|\[ipv6|\[ipv6:[0-9a-f:]{0,39})$/i.test(before);
}

/** `[ipv6:` and the longest address of IPv6. */
const MOST_BEFORE_COLON = 46;
