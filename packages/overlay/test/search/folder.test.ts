/** A folder of the disk: which files are shared, how changes are followed; nothing else leaves. */

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SimNetwork, Simulation } from '@bloomery/sim';
import { eventually } from '@bloomery/testkit/eventually';
import { systemClock } from '@bloomery/transport';
import { hashScheme } from 'bloomery';
import { expect, onTestFinished, test } from 'vitest';
import { SharedFolder } from '../../src/search/index.ts';
import { type FolderRules, folderEntries } from '../../src/search/node/folder-files.ts';
import { FolderFollower } from '../../src/search/node/folder-follower.ts';
import { writeDocuments } from '../../src/search/wire/document-message.ts';
import { writeScores } from '../../src/search/wire/score-message.ts';

function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'bloomery-share-test-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Ignores names that begin with "no-". */
const RULES: FolderRules = { below: () => RULES, ignores: (name) => name.startsWith('no-') };

function follow(root: string, prefix = '') {
  const transport = new SimNetwork(new Simulation({ seed: 1 })).join({ id: 'a', peers: [] });
  const folder = new SharedFolder({
    transport,
    clock: systemClock,
    scheme: hashScheme(),
    label: 'docs',
    readText: (path) => follower.readText(path),
  });
  const follower = new FolderFollower({ root, folder, clock: systemClock, rules: () => RULES, prefix });
  onTestFinished(() => {
    follower.close();
    folder.close();
  });
  const paths = () => [...folder.index.documents()].map(({ path }) => path).sort();
  return { folder, follower, paths };
}

/** A folder with one shared file, and everything that must not be shared, each with a marker. */
function treacherousFolder() {
  const root = temporaryFolder();
  const outside = temporaryFolder();
  const put = (path: string, text: string) => {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  writeFileSync(join(outside, 'target.txt'), 'markeroutside');
  put('good.txt', 'shared marker text');
  put('.env', 'markerhidden');
  put('.ssh/id', 'markerhidden');
  put('no-this.txt', 'markerignored');
  put('no-folder/deep/file.txt', 'markerignored');
  put('large.txt', 'markerlarge '.repeat(1_500_000));
  symlinkSync(join(outside, 'target.txt'), join(root, 'link.txt'));
  symlinkSync(outside, join(root, 'linked-folder'));
  execFileSync('mkfifo', [join(root, 'pipe.txt')]);
  return { root, outside };
}

test('FolderFollower indexes regular files that no rule leaves out, and follows no link', async () => {
  const { root } = treacherousFolder();
  const { follower, paths } = follow(root);
  await follower.start();
  expect(paths()).toEqual(['good.txt']);
  expect(follower.leftOut).toEqual({ hidden: 2, ignored: 2, link: 2, 'no file': 1, large: 1 });
  // The list for users is made by the same rule. It does not open files, so it has the large one.
  const listed = [...folderEntries(root, RULES)].flatMap((entry) =>
    entry.kind === 'file' ? [entry.path] : [],
  );
  expect(listed).toEqual(['good.txt', 'large.txt']);
});

test('nothing of files that are not shared leaves a folder, whatever is asked', async () => {
  const { root } = treacherousFolder();
  const { folder, follower } = follow(root);
  await follower.start();
  const markers = [
    'marker',
    'markeroutside',
    'markerhidden',
    'markerignored',
    'markerlarge',
    'env',
    'ssh',
    'link',
    'pipe',
    'id',
  ];
  let said = '';
  for (const key of [...markers, ...markers.map((word) => `name:${word}`)]) {
    const question = {
      keys: [{ key, having: 1, isRequired: false }],
      phrases: [],
      types: [],
      documents: 1,
      floor: 0,
      most: 100,
    };
    const answer = folder.answer(question);
    said += Buffer.from(writeScores(answer)).toString('latin1');
    expect(answer.matching, key).toBe(key === 'marker' ? 1 : 0);
  }
  const handles = Array.from({ length: 100 }, (_, i) => i);
  said += Buffer.from(writeDocuments(await folder.fetch({ handles, keys: markers }))).toString('latin1');
  expect(said).toContain('shared marker text');
  expect(said).not.toMatch(/marker(outside|hidden|ignored|large)|env|ssh|link|pipe/);
  // A file that was replaced by a link shows nothing of the target, before the index knows of it.
  rmSync(join(root, 'good.txt'));
  symlinkSync('/etc/hostname', join(root, 'good.txt'));
  expect(await follower.readText('good.txt')).toBeNull();
  // A path of another folder is none of the index.
  for (const path of ['../x', '/etc/hostname', 'link.txt', '.env'])
    expect(await follower.readText(path)).toBeNull();
});

test('FolderFollower follows files that are written, changed, moved and removed', async () => {
  const root = temporaryFolder();
  const { folder, follower, paths } = follow(root, 'docs/');
  await follower.start();
  expect(paths()).toEqual([]);
  const has = (word: string) => folder.index.postings(word).size;
  writeFileSync(join(root, 'a.txt'), 'firstword');
  await eventually(() => has('firstword') === 1);
  writeFileSync(join(root, 'a.txt'), 'secondword');
  await eventually(() => has('firstword') === 0 && has('secondword') === 1);
  mkdirSync(join(root, 'sub', 'deep'), { recursive: true });
  writeFileSync(join(root, 'sub', 'deep', 'b.md'), 'thirdword');
  await eventually(() => has('thirdword') === 1);
  renameSync(join(root, 'sub'), join(root, 'moved'));
  await eventually(() => paths().join() === 'docs/a.txt,docs/moved/deep/b.md');
  writeFileSync(join(root, 'moved', 'deep', 'c.txt'), 'fourthword');
  await eventually(() => has('fourthword') === 1);
  renameSync(join(root, 'moved'), join(root, 'no-longer'));
  await eventually(() => paths().join() === 'docs/a.txt');
  rmSync(join(root, 'a.txt'));
  await eventually(() => paths().length === 0);
  expect([folder.index.size, folder.index.keyCount, follower.size]).toEqual([0, 0, 0]);
});

test('FolderFollower finds changes by looking where the system tells none', async () => {
  const root = temporaryFolder();
  writeFileSync(join(root, 'a.txt'), 'firstword');
  const { folder, follower } = follow(root);
  await follower.start();
  expect(folder.pathsOf(createHash('sha256').update('firstword').digest('hex'))).toEqual(['a.txt']);
  writeFileSync(join(root, 'b.txt'), 'secondword');
  await follower.rescan();
  expect(folder.index.postings('secondword').size).toBe(1);
  expect(await follower.readText('b.txt')).toBe('secondword');
});

test('FolderFollower reads a file again that may have changed unseen while it was new', async () => {
  const root = temporaryFolder();
  const path = join(root, 'a.txt');
  writeFileSync(path, 'lemon');
  const { folder, follower } = follow(root);
  await follower.start();
  const { atime, mtime } = statSync(path);
  // The same size and time, as two writes within one tick of the clock of the file system.
  writeFileSync(path, 'melon');
  utimesSync(path, atime, mtime);
  await eventually(() => folder.index.postings('melon').size === 1);
  // A file that is written again with the same content keeps its handle.
  const { handle } = folder.index.documentAt('a.txt')!;
  utimesSync(path, atime, new Date(mtime.getTime() - 60_000));
  await follower.rescan();
  expect(folder.index.documentAt('a.txt')!.handle).toBe(handle);
  const [{ changed }] = await folder.fetch({ handles: [handle], keys: [] });
  expect(changed).toBe(Math.floor((mtime.getTime() - 60_000) / 1000));
});
