import { expect, test } from 'vitest';
import { parseBytes, parseCount, parseRate } from './command-options.ts';

test('counts as people write them', () => {
  const count = parseCount();
  const right = {
    '5': 5,
    '1_000': 1000,
    '1,000,000': 1e6,
    '12,345': 12_345,
    '10k': 1e4,
    '1.5M': 15e5,
    '2G': 2e9,
    '1e6': 1e6,
    '2.5e3': 2500,
  };
  for (const [text, value] of Object.entries(right)) expect(count(text), text).toBe(value);
  const wrong = [
    '',
    '0',
    '-1',
    '1e-3',
    '1.5e0',
    '1e99',
    '1e3k',
    '0x10',
    ' 5',
    '1.5',
    'k',
    '9007199254740992',
  ];
  const otherCommas = ['1,5', '1,5M', '1,00,000', '12,3456', '1,000,', ',5'];
  for (const text of [...wrong, ...otherCommas])
    expect(() => count(text), text).toThrow('Expected a whole number of at least 1');
  expect(parseCount(0)('0')).toBe(0);
});

test('decimal counts are exact', () => {
  const count = parseCount();
  for (let i = 1; i < 10_000; i++) if (count(`${(i / 1000).toFixed(3)}k`) !== i) expect.fail(`${i}`);
});

test('sizes', () => {
  const right = {
    '5000': 5000,
    '64k': 64_000,
    '64kB': 64_000,
    '64KiB': 65_536,
    '1.5 MB': 15e5,
    '1,000': 1000,
  };
  for (const [text, value] of Object.entries(right)) expect(parseBytes(text), text).toBe(value);
  for (const text of ['1,5M', '0', '5i', 'MB', '1e3'])
    expect(() => parseBytes(text), text).toThrow('Expected a size');
});

test('rates', () => {
  const right = { '0.01': 0.01, '1%': 0.01, '1 %': 0.01, '1e-6': 1e-6, '1/1000': 0.001, '1 / 8': 0.125 };
  for (const [text, value] of Object.entries(right)) expect(parseRate(text), text).toBe(value);
  for (const text of ['0', '1', '100%', '-1%', '1/0', '0/1', '1e-400', 'x', '', '1/1/8', '0,01'])
    expect(() => parseRate(text), text).toThrow('Expected a rate between 0 and 1');
});
