import { expect, test } from 'vitest';
import { SUBJECTS } from '../../../test/fuzz-subjects.ts';
import { FOREIGN_FORMATS } from './foreign-formats.ts';

test('FOREIGN_FORMATS names every format that has a fuzzed file, and no other', () => {
  expect([...new Set(SUBJECTS.map(({ format }) => format))].sort()).toEqual([...FOREIGN_FORMATS].sort());
});
