import { expect, test } from 'vitest';
import { fold } from './terminal-report.ts';

test('fold cuts wide tables between groups of columns', () => {
  const table = {
    head: ['m', 'k', 'aaaa', 'b', 'cccc', 'd'],
    rows: [['1', '2', '3', '4', '5', '6']],
    names: 2,
    folds: [4],
  };
  expect(fold(table, 22).map(({ head }) => head.join(' '))).toEqual(['m k aaaa b cccc d']);
  expect(fold(table, 21).map(({ head }) => head.join(' '))).toEqual(['m k aaaa b', 'm k cccc d']);
  expect(fold(table, 21)[1].rows).toEqual([['1', '2', '5', '6']]);
});
