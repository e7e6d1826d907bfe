import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fileList } from './file-list.ts';

const digest = (text: string) => new Uint8Array(createHash('sha256').update(text).digest());

test('the list is what sha256sum prints for the sorted names', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-list-'));
  try {
    const names = ['text.json', 'b.text', 'a-1.text', 'B.text', 'a_1.text'];
    for (const name of names) writeFileSync(join(folder, name), `contents of ${name}`);
    const list = fileList(names.map((name) => ({ name, sha256: digest(`contents of ${name}`) })));
    const { stdout } = spawnSync('sh', ['-c', 'LC_ALL=C; export LC_ALL; sha256sum *'], { cwd: folder });
    expect(Buffer.from(list).toString()).toBe(stdout.toString());
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('names that sha256sum would escape, that lead elsewhere or that come twice are refused', () => {
  for (const name of ['', '.', '..', 'a/b', 'a b', 'a\\b', 'a\nb', 'ä.text']) {
    expect(() => fileList([{ name, sha256: digest(name) }]), name).toThrow(RangeError);
  }
  const twice = { name: 'a', sha256: digest('a') };
  expect(() => fileList([twice, twice])).toThrow(/a twice/);
  expect(() => fileList([{ name: 'a', sha256: new Uint8Array(31) }])).toThrow(TypeError);
});
