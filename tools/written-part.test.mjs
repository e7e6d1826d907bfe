import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { keepPart } from './written-part.mjs';

const folder = mkdtempSync(join(tmpdir(), 'bloomery-part-'));
const page = join(folder, 'page.md');
const part = { page, begin: '<!-- a -->', end: '<!-- end of a -->', tool: 'tools/a.mjs' };

beforeEach(() => writeFileSync(page, 'before\n<!-- a -->\nold\n<!-- end of a -->\nafter\n'));
afterAll(() => rmSync(folder, { recursive: true }));

test('keepPart accepts a page that has the text', () => {
  expect(keepPart({ ...part, text: 'old', write: false })).toBe(true);
});

test('keepPart refuses a page that has another text, says what to run, and leaves it alone', () => {
  const print = vi.spyOn(console, 'error').mockImplementation(() => {});
  expect(keepPart({ ...part, text: 'new', write: false })).toBe(false);
  expect(print.mock.calls.join()).toContain('node tools/a.mjs --write\nnew');
  expect(readFileSync(page, 'utf8')).toContain('old');
  print.mockRestore();
});

test('keepPart writes the text and nothing else', () => {
  expect(keepPart({ ...part, text: 'new', write: true })).toBe(true);
  expect(readFileSync(page, 'utf8')).toBe('before\n<!-- a -->\nnew\n<!-- end of a -->\nafter\n');
});

test('keepPart throws for a page without the part', () => {
  expect(() => keepPart({ ...part, begin: '<!-- b -->', text: 'old', write: true })).toThrow(
    /^Cannot find the part that tools\/a\.mjs writes: expected <!-- b --> … <!-- end of a -->, got none \(/,
  );
});
