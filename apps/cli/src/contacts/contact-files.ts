/**
 * Contacts of files that the user names: vCards, tables, mailboxes, lists. `-` is standard input.
 */

import { readFileSync } from 'node:fs';
import { type ContactFormat, readContacts } from '@bloomery/overlay/private';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

export interface ContactFileOptions {
  readonly format?: ContactFormat;
  readonly column?: string;
  readonly fields?: string;
}

/** The distinct addresses of all files, in their order. */
export function readContactFiles(files: readonly string[], options: ContactFileOptions): string[] {
  const addresses = new Set<string>();
  for (const file of files) {
    const text = readFileSync(file === '-' ? 0 : file, 'utf8');
    const { format, column, fields } = options;
    let contacts: ReturnType<typeof readContacts>;
    try {
      contacts = readContacts(text, {
        ...(format && { format }),
        ...(column !== undefined && { column }),
        ...(fields !== undefined && { fields: fields.split(',').map((name) => name.trim()) }),
      });
    } catch (error) {
      if (error instanceof RangeError) throw new UsageError(`${file}: ${error.message}`, { cause: error });
      throw error;
    }
    if (contacts.refused > 0) warn(`${file}: ${contacts.refused} entries are no addresses and were left out`);
    for (const address of contacts.addresses) addresses.add(address);
  }
  if (addresses.size === 0) {
    throw new UsageError(`no addresses in ${files.join(', ')}; --format says what the file is`);
  }
  return [...addresses];
}
