import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { bloomery } from '../run-command.ts';
import { lineFilters } from './line-filters.ts';

const { at, run } = lineFilters();

describe('packed inputs', () => {
  test('bzip2 is read by its program, and damage is told', () => {
    writeFileSync(at('low.txt.bz2'), spawnSync('bzip2', ['-c', at('low.txt')]).stdout);
    expect(run(['check', 'high.blm', '-c', 'low.txt.bz2']).stdout).toBe('500\n');
    writeFileSync(at('cut.bz2'), readFileSync(at('low.txt.bz2')).subarray(0, 500));
    expect(run(['check', 'high.blm', 'cut.bz2'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/cut\.bz2: the bzip2 data is damaged or cut off/),
    });
    writeFileSync(at('empty.bz2'), spawnSync('bzip2', ['-c'], { input: '' }).stdout);
    expect(run(['check', 'high.blm', 'empty.bz2'])).toEqual({ code: 1, stdout: '', stderr: '' });
    const { stderr } = bloomery(['check', 'high.blm', 'low.txt.bz2'], {
      cwd: at('.'),
      env: { PATH: at('') },
    });
    expect(stderr).toMatch(/is packed with bzip2; install the program bzip2/);
  });

  test('zstd --long is read, or the cause is named', () => {
    for (const long of ['28', '31']) {
      const packed = spawnSync('zstd', ['-q', '-c', '--ultra', `--long=${long}`], {
        input: readFileSync(at('low.txt')),
      }).stdout;
      const { code, stdout, stderr } = bloomery(['check', 'high.blm', '-c'], { input: packed, cwd: at('.') });
      if (code === 0) expect(stdout, long).toBe('500\n');
      else expect(stderr, long).toMatch(/packed with zstd --long=31, .*zstd -dc --long=31/);
      if (long === '28') expect(code).toBe(0);
    }
  });
});
