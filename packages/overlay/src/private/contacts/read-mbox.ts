/**
 * The addresses of mails: a mailbox in the format mbox (RFC 4155), or a single mail.
 *
 * By default those of the recipients, `To`, `Cc` and `Bcc`. From a folder of sent mails they are
 * the people one writes to. The senders of an inbox would include every spammer, and a friend would
 * take them for known.
 */

import { parseAddressList } from './address-list.ts';
import { fieldValues, parseHead } from './mail-head.ts';

const RECIPIENTS: readonly string[] = ['to', 'cc', 'bcc'];

/** The addresses in the named fields of all mails, in order. */
export function readMbox(text: string, names: readonly string[] = RECIPIENTS): string[] {
  const found: string[] = [];
  // A line "From " with a time, after an empty line, begins a mail. Writers put a > before such
  // lines of a body, but not all of them do.
  for (const mail of text.split(/(?<=^|\n\r?\n)(?=From [^\n]*\d\d:\d\d)/)) {
    const head = parseHead(mail);
    for (const name of names)
      for (const value of fieldValues(head, name)) found.push(...parseAddressList(value));
  }
  return found;
}

/** The first address of `From`, or null if there is none. */
export function senderOf(mail: string): string | null {
  return fieldValues(parseHead(mail), 'from').flatMap((value) => parseAddressList(value))[0] ?? null;
}
