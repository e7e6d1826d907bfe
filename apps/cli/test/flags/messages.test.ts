import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { lineFilters } from './line-filters.ts';

const { at, run } = lineFilters();

describe('messages', () => {
  test('wrong, missing and needless secrets are told apart', () => {
    writeFileSync(at('one.key'), '00'.repeat(16));
    writeFileSync(at('two.key'), '11'.repeat(16));
    run(['build', 'low.txt', '--key-file', 'one.key', '-o', 'keyed.blm']);
    for (const command of [['check'], ['add']]) {
      expect(run([...command, 'keyed.blm', 'low.txt', '--key-file', 'two.key']).stderr).toMatch(
        /keyed\.blm: the filter was built with another secret than the one in --key-file/,
      );
      expect(run([...command, 'keyed.blm', 'low.txt']).stderr).toMatch(
        /the filter is keyed; --key-file names/,
      );
      expect(run([...command, 'low.blm', 'low.txt', '--key-file', 'one.key']).stderr).toMatch(
        /low\.blm: the filter is not keyed; leave out --key-file/,
      );
    }
    expect(run(['check', 'keyed.blm', 'low.txt', '--key-file', 'one.key', '-c']).stdout).toBe('1000\n');
  });

  test('a delta that was applied already, and a delta in the place of a filter', () => {
    for (const name of ['low', 'high']) {
      run(['build', `${name}.txt`, '-N', '1k', '-o', `${name}-1k.blm`]);
    }
    expect(run(['delta', 'low-1k.blm', 'high-1k.blm', '-o', 'up.delta']).code).toBe(0);
    expect(run(['apply', 'high-1k.blm', 'up.delta', '-o', 'again.blm']).stderr).toMatch(
      /up\.delta has been applied to high-1k\.blm already/,
    );
    expect(run(['check', 'up.delta', 'low.txt']).stderr).toMatch(
      /up\.delta is a delta, not a filter; .*bloomery apply/,
    );
  });

  test('an overfull add names the rate and the remedy', () => {
    run(['build', 'low.txt', '-N', '1k', '-o', 'full.blm']);
    const { code, stderr } = run(['add', 'full.blm', 'high.txt']);
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /full\.blm was made for 1,000 keys and holds about 1,[45]\d\d; false positives are about [3-7][.\d]* % now; .*--capacity/,
    );
  });
});
