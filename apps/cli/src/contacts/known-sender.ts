/**
 * LOAF's question about a mail: does someone I know know its sender? The decision, without files
 * and without output.
 */

import { type Acquaintances, senderOf } from '@bloomery/overlay/private';

/** The field that `contacts mark` writes. A mail that has it already loses it: others forge it. */
export const KNOWN_FIELD = 'X-Bloomery-Known';

export interface KnownSender {
  readonly sender: string | null;
  /** The sender is in the user's contacts. */
  readonly own: boolean;
  /** Friends who may know the sender. */
  readonly friends: readonly string[];
  /** The probability that an unknown sender is found with at least one friend. */
  readonly falseAlarmRate: number;
}

export function knowsSender(
  mail: string,
  acquaintances: Acquaintances,
  own: ReadonlySet<string>,
): KnownSender {
  const sender = senderOf(mail);
  return { sender, ...knowsAddress(sender, acquaintances, own) };
}

export function knowsAddress(
  address: string | null,
  acquaintances: Acquaintances,
  own: ReadonlySet<string>,
): Omit<KnownSender, 'sender'> {
  return {
    own: address !== null && own.has(address),
    friends: address === null ? [] : acquaintances.whoMayKnow(address).map(({ name }) => name),
    falseAlarmRate: acquaintances.falseAlarmRate,
  };
}

export function isKnown({ own, friends }: Omit<KnownSender, 'sender'>): boolean {
  return own || friends.length > 0;
}

/** The value of the field: `yes; by=own`, `yes; by=ann@example.org; by-chance=0.0020`, `no`. */
export function knownField({ own, friends, falseAlarmRate }: KnownSender): string {
  if (own) return 'yes; by=own';
  if (friends.length === 0) return 'no';
  // At most five names, so that the line stays one line.
  const names = friends.slice(0, 5).join(',') + (friends.length > 5 ? `,+${friends.length - 5}` : '');
  return `yes; by=${encoded(names)}; by-chance=${falseAlarmRate.toFixed(4)}`;
}

/** The names in ASCII: a field of a mail has nothing else. */
function encoded(names: string): string {
  return names.replaceAll(/[^!-~]/gu, (character) => encodeURIComponent(character));
}
