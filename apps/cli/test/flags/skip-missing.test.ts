import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { lineFilters } from './line-filters.ts';

const { at, run } = lineFilters();

describe('--skip-missing', () => {
  const JSON_LINES = '{"k":"line 1"}\n{"x":1}\n\n{"k":null}\n{"k":"no"}\n{"k":["line 2"]}\n{"k":"line 3"}\n';

  test('passes over JSON values without the field, and says how many', () => {
    const plain = run(['check', 'low.blm', '--jsonl', '.k'], JSON_LINES);
    expect(plain.stderr).toMatch(/-: line 2 has no text or number at \.k; --skip-missing/);
    const { code, stdout, stderr } = run(
      ['check', 'low.blm', '--jsonl', '.k', '--skip-missing', '-n'],
      JSON_LINES,
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: '1:{"k":"line 1"}\n7:{"k":"line 3"}\n' });
    expect(stderr).toMatch(/-: 3 of 7 records have no text or number at \.k and were skipped/);
    expect(run(['check', 'low.blm', '--jsonl', '.k', '--skip-missing', '-v'], JSON_LINES).stdout).toBe(
      '\n{"k":"no"}\n',
    );
    const broken = run(['check', 'low.blm', '--jsonl', '.k', '--skip-missing'], '{"x":1}\n{"k":\n');
    expect(broken).toMatchObject({ code: 2, stderr: expect.stringContaining('line 2 is not JSON') });
  });

  test('passes over CSV records that are too short, and numbers the lines of errors as before', () => {
    const csv = 'id,name\n1,line 1\n"2\n2"\n3,line 3\n';
    writeFileSync(at('short.csv'), csv);
    const options = ['--column', 'name', '--skip-missing'];
    expect(run(['check', 'low.blm', 'short.csv', ...options, '-n']).stdout).toBe('1:1,line 1\n3:3,line 3\n');
    const built = run(['build', 'short.csv', ...options, '-o', 'short.blm', '--json']);
    expect(JSON.parse(built.stdout).keys).toBe(2);
    expect(built.stderr).toMatch(/short\.csv: 1 of 3 records have no column name and were skipped/);
    writeFileSync(at('wrong.csv'), `${csv}4,"a"b\n`);
    expect(run(['check', 'low.blm', 'wrong.csv', ...options]).stderr).toMatch(
      /wrong\.csv: line 6 has text behind/,
    );
    expect(run(['check', 'low.blm', '--skip-missing'], 'x\n').stderr).toMatch(/--column and --jsonl/);
  });

  test('gives the same on several threads as on one', () => {
    const lines = Array.from({ length: 60_000 }, (_, i) =>
      i % 3 === 0 ? `{"other":${i}}` : `{"k":"line ${i % 2000}"}`,
    );
    writeFileSync(at('many.jsonl'), `${lines.join('\n')}\n`);
    const outputs = ['0', '2'].map(
      (threads) =>
        run(['check', 'low.blm', 'many.jsonl', '--jsonl', '.k', '--skip-missing', '-n', '--threads', threads])
          .stdout,
    );
    const wanted = lines.flatMap((line, i) => (i % 3 !== 0 && i % 2000 < 1000 ? [`${i + 1}:${line}`] : []));
    expect(outputs[0] === `${wanted.join('\n')}\n`).toBe(true);
    expect(outputs[1] === outputs[0]).toBe(true);
  });
});
