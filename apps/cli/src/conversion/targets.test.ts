import { FOREIGN_FORMATS } from 'bloomery/formats';
import { expect, test } from 'vitest';
import { READ_ONLY, TARGETS } from './targets.ts';

test('every foreign format is either written by convert or listed as read only', () => {
  const written = TARGETS.map(({ name }) => name);
  const readOnly = READ_ONLY.map(({ name }) => name);
  for (const format of FOREIGN_FORMATS) {
    expect([format, written.includes(format) !== readOnly.includes(format)]).toEqual([format, true]);
  }
});
