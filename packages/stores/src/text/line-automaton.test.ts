import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { linePattern } from './line-pattern.ts';

const bytes = (text: string) => Uint8Array.from(text, (c) => c.charCodeAt(0));

test('LineAutomaton takes one pass for patterns on which RegExp backtracks', () => {
  const { lines } = linePattern([bytes('(\\w*)*[a-f]*(\\S*a*)*!')], { syntax: 'extended' });
  const line = 'abcdef'.repeat(50_000);
  expect(lines.findLine(bytes(`${line}\nx\n`), 0)).toBe(null);
  expect(lines.findLine(bytes(`${line}\nx!\n`), 0)).toEqual({ start: line.length + 1, end: line.length + 3 });
});

test('LineAutomaton agrees with RegExp line by line, for patterns that do not backtrack', () => {
  const random = new Random(9);
  const letters = () => Array.from({ length: random.below(9) }, () => random.pick([...'ab_ 0.'])).join('');
  const patterns = [
    'a+b',
    '^a|b$',
    '\\<a',
    'b\\>',
    '\\ba\\b',
    'a{2,3}b?',
    '(ab|ba)+_',
    '[^a]b',
    '^$',
    '',
    'a\\Bb',
    '.0.',
  ];
  for (const pattern of patterns) {
    for (const options of [{}, { words: true }, { wholeLines: true }, { ignoreCase: true }]) {
      const { lines, regexp } = linePattern([bytes(pattern)], { syntax: 'extended', ...options });
      const texts = Array.from({ length: 60 }, letters);
      const found: string[] = [];
      const text = bytes(`${texts.join('\n')}\n`);
      for (let at = 0; ; ) {
        const line = lines.findLine(text, at);
        if (line === null) break;
        found.push(String.fromCharCode(...text.subarray(line.start, line.end)));
        at = line.end + 1;
      }
      const expected = texts.filter((one) => one.search(regexp) >= 0);
      expect(found, `${pattern} ${JSON.stringify(options)}`).toEqual(expected);
    }
  }
});

test('linePattern refuses patterns that it does not understand, and says where', () => {
  for (const pattern of [
    '(a',
    'a)',
    '[a',
    '*a',
    'a{2',
    'a{3,2}',
    '\\1',
    '\\q',
    'a\\',
    '[[.a.]]',
    '[z-a]',
    '^*',
    '(((a{999}){999}){999})',
  ])
    expect(() => linePattern([bytes(pattern)], { syntax: 'extended' }), pattern).toThrow(
      'Cannot read the pattern',
    );
});

test('linePattern knows the text that a line must contain', () => {
  const required = (pattern: string) =>
    JSON.stringify(linePattern([bytes(pattern)], { syntax: 'extended' }).required, (_, value) =>
      value instanceof Uint8Array ? String.fromCharCode(...value) : value,
    );
  expect(required('Timeout after [0-9]+ ms')).toContain('"timeout after "');
  expect(required('(GET|POST) /login')).toMatch(/"get \/login".*"post \/login"/);
  expect(required('x(ab){3}y')).toContain('"xabababy"');
  expect(required('colou?r')).toMatch(/"color".*"colour"/);
  expect(required('[a-z]*')).not.toMatch(/"bytes":"[^"]/);
});
