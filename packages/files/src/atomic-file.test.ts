/** Files that are there whole or not at all, and what becomes of those that were not finished. */

import { execFileSync } from 'node:child_process';
import fs, { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { replaceFile, writeAtomically } from './atomic-file.ts';
import { pidNamespace } from './lock/process-identity.ts';
import { isTemporaryName } from './temporary-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-atomic-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const at = (name: string) => join(folder, name);
const namespace = /\d+/.exec(pidNamespace())?.[0] ?? '';

/** The names in the folder at the moment in which a file is renamed. */
function namesDuring(work: () => void): string[] {
  const { renameSync } = fs;
  let names: string[] = [];
  fs.renameSync = (from, to) => {
    names = readdirSync(folder);
    renameSync(from, to);
  };
  syncBuiltinESMExports();
  try {
    work();
  } finally {
    fs.renameSync = renameSync;
    syncBuiltinESMExports();
  }
  return names;
}

test('writeAtomically writes parts one after the other, with the mode that was asked for', () => {
  writeAtomically(at('a'), [Buffer.from('one '), Buffer.from('two')], { mode: 0o600 });
  expect(readFileSync(at('a'), 'utf8')).toBe('one two');
  expect(statSync(at('a')).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['a']);
});

test('writeAtomically without force leaves a file that is there', () => {
  writeFileSync(at('a'), 'old');
  expect(() => writeAtomically(at('a'), Buffer.from('new'), { force: false })).toThrow(
    expect.objectContaining({ code: 'exists', path: at('a') }),
  );
  expect(readFileSync(at('a'), 'utf8')).toBe('old');
  expect(readdirSync(folder)).toEqual(['a']);
});

test('the temporary file names process, namespace and a token, and is another one each time', () => {
  const write = () => writeAtomically(at('a'), Buffer.from('x'));
  const names = [namesDuring(write), namesDuring(write)].map((found) => found.find(isTemporaryName));
  for (const name of names) expect(name).toMatch(/^\.a\.\d+-\d*-[0-9a-f]{8}\.bloomery-tmp$/);
  expect(names[0]).not.toBe(names[1]);
});

test('left-over temporary files go once their process is gone; those of other containers stay', () => {
  const gone = Number(execFileSync('sh', ['-c', 'echo $$']).toString());
  const left = {
    [`.a.${gone}.bloomery-tmp`]: 'goes',
    [`.a.${gone}-${namespace}-01234567.bloomery-tmp`]: 'goes',
    [`.a.${process.pid}-${namespace}-01234567.bloomery-tmp`]: 'goes',
    [`.a.${gone}-1-01234567.bloomery-tmp`]: 'stays',
    [`.a.${process.ppid}-${namespace}-01234567.bloomery-tmp`]: 'stays',
    [`.a.${process.ppid}.bloomery-tmp`]: 'stays',
    [`.b.${gone}.bloomery-tmp`]: 'stays',
    '.a.other.bloomery-tmp': 'stays',
  };
  for (const name of Object.keys(left)) writeFileSync(at(name), '');
  writeAtomically(at('a'), Buffer.from('x'));
  const stay = Object.keys(left).filter((name) => left[name] === 'stays');
  expect(readdirSync(folder).sort()).toEqual([...stay, 'a'].sort());
});

test('a name as long as the file system allows', () => {
  const name = 'ü'.repeat(127);
  writeAtomically(at(name), Buffer.from('x'));
  expect(readdirSync(folder)).toEqual([name]);
});

test('replaceFile replaces a file, and leaves nothing beside it', async () => {
  writeFileSync(at('a'), 'old');
  await replaceFile(at('a'), Buffer.from('new'), { mode: 0o600 });
  expect([readFileSync(at('a'), 'utf8'), statSync(at('a')).mode & 0o777]).toEqual(['new', 0o600]);
  expect(readdirSync(folder)).toEqual(['a']);
});

test('replaceFile that fails leaves the place as it was', async () => {
  fs.mkdirSync(at('a'));
  await expect(replaceFile(at('a'), Buffer.from('new'))).rejects.toThrow();
  expect(readdirSync(folder)).toEqual(['a']);
});
