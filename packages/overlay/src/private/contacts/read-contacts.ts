/** Contacts from a file of any known kind, as addresses in their one spelling. */

import { normalizeAddress } from './normalize-address.ts';
import { readCsv } from './read-csv.ts';
import { readMbox } from './read-mbox.ts';
import { readVcard } from './read-vcard.ts';

export type ContactFormat = 'vcard' | 'csv' | 'mbox' | 'lines';

export interface ContactOptions {
  /** Default: found out from the beginning of the text. */
  readonly format?: ContactFormat;
  /** The column of a CSV file. Default: all whose names contain "mail". */
  readonly column?: string;
  /** Fields of mails that are read. Default: to, cc and bcc. */
  readonly fields?: readonly string[];
}

export interface Contacts {
  readonly format: ContactFormat;
  /** Distinct addresses, in the order of the file. */
  readonly addresses: readonly string[];
  /** The number of texts in the places of addresses that are none. */
  readonly refused: number;
}

export function readContacts(text: string, options: ContactOptions = {}): Contacts {
  const format = options.format ?? formatOf(text);
  const texts = READERS[format](text, options);
  const addresses = new Set<string>();
  let refused = 0;
  for (const each of texts) {
    const address = normalizeAddress(each);
    if (address === null) refused++;
    else addresses.add(address);
  }
  return { format, addresses: [...addresses], refused };
}

const READERS: Record<ContactFormat, (text: string, options: ContactOptions) => string[]> = {
  vcard: (text) => readVcard(text),
  csv: (text, { column }) => readCsv(text, column === undefined ? {} : { column }),
  mbox: (text, { fields }) => readMbox(text, fields),
  lines: (text) =>
    text
      .split(/\r\n|\n|\r/)
      .map((line) => line.trim())
      .filter((line) => line !== '' && !line.startsWith('#')),
};

/** The kind of a text: by its first line, and for a table by the separators in it. */
function formatOf(text: string): ContactFormat {
  const start = text.slice(0, 4096).replace(/^\uFEFF?\s*/, '');
  if (/^BEGIN:VCARD/i.test(start)) return 'vcard';
  if (
    /^From /.test(start) ||
    /^(?:return-path|received|from|to|date|subject|message-id|delivered-to|mime-version):/i.test(start)
  )
    return 'mbox';
  const [first = ''] = start.split(/\r\n|\n|\r/, 1);
  const isTable = /[,;\t]/.test(first) || /^"?[^@]*\be-?mail[^@]*$/i.test(first);
  return isTable ? 'csv' : 'lines';
}
