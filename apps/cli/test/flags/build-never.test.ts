import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { lineFilters } from './line-filters.ts';

const { at, run } = lineFilters();

describe('build --never', () => {
  test('finds a seed with which none of the listed keys passes', () => {
    // At 3 %, 60 keys pass together with probability 16 %: seed 0 does not do.
    const never = Array.from({ length: 60 }, (_, i) => `never ${i}`);
    writeFileSync(at('never.txt'), `${never.join('\n')}\n`);
    run(['build', 'low.txt', '-r', '3%', '-o', 'first.blm']);
    expect(run(['check', 'first.blm', 'never.txt', '-q']).code).toBe(0);
    for (const structure of ['blocked', 'bloom', 'static']) {
      const args = ['build', 'low.txt', '-r', '3%', '-s', structure, '--never', 'never.txt', '--force'];
      const { code, stdout } = run([...args, '-o', 'clean.blm', '--json']);
      expect(code, structure).toBe(0);
      const { tries, seed } = JSON.parse(stdout);
      expect(seed).toBe(String(tries - 1));
      expect(run(['check', 'clean.blm', 'never.txt', '-q']).code).toBe(1);
      expect(run(['check', 'clean.blm', 'low.txt', '-c']).stdout).toBe('1000\n');
    }
  });

  test('takes the line ends of the listed keys as those of the keys', () => {
    const keys = Array.from({ length: 60 }, (_, i) => `never ${i}`);
    writeFileSync(at('never-crlf.txt'), `${keys.join('\r\n')}\r\n`);
    writeFileSync(at('never-lf.txt'), `${keys.join('\n')}\n`);
    const args = ['build', 'low.txt', '--crlf', '-r', '3%', '--never', 'never-crlf.txt'];
    const { code, stderr } = run([...args, '-o', 'clean-crlf.blm']);
    expect([code, stderr]).toEqual([0, '']);
    expect(run(['check', 'clean-crlf.blm', 'never-lf.txt', '-q']).code).toBe(1);
  });

  test('refuses a key of the set, hopeless searches and inputs that cannot be read again', () => {
    writeFileSync(at('member.txt'), 'no\nline 7\n');
    const build = (never: string, ...more: string[]) =>
      run(['build', 'low.txt', '-r', '3%', '--never', never, '-o', 'refused.blm', ...more]);
    expect(build('member.txt').stderr).toMatch(/member\.txt: "line 7" is one of the keys, so no seed/);
    const many = Array.from({ length: 1000 }, (_, i) => `never ${i}`);
    writeFileSync(at('many-never.txt'), `${many.join('\n')}\n`);
    const hopeless = build('many-never.txt').stderr;
    expect(hopeless).toMatch(
      /need about .* seeds, more than 1,000 \(--tries\); --rate 0\.00069 needs about 2/,
    );
    expect(build('never.txt', '--tries', '1').stderr).toMatch(/none of 1 seeds|need about .* seeds/);
    expect(run(['build', '--never', 'never.txt', '-o', 'refused.blm'], 'x\n').stderr).toMatch(
      /reads the keys again for each seed; put them into a file/,
    );
    writeFileSync(at('one.key'), '00'.repeat(16));
    expect(build('never.txt', '--key-file', 'one.key').stderr).toMatch(/exclude each other/);
    expect(run(['info', 'refused.blm']).code).toBe(2);
  });
});
