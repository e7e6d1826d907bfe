/** `bloomery share` and `bloomery find`: the list and the question, two peers, exit codes. */

import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { eventually } from '@bloomery/testkit/eventually';
import { NatsServer } from '@bloomery/testkit/programs/nats-server';
import { expect, onTestFinished, test } from 'vitest';
import { bloomery, startBloomery, temporaryFolder } from '../run-command.ts';

const folder = temporaryFolder();
const invitation = join(folder, 'team.json');

function newFolder(name: string, files: Record<string, string>): string {
  const path = join(folder, name);
  mkdirSync(path);
  for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text);
  return path;
}

test('share invite writes an invitation that only its owner can read, and renew another secret', () => {
  const file = join(folder, 'invited.json');
  expect(bloomery(['share', 'invite', file, '--group', 'team', '--nats', 'nats://10.0.0.5:4222'])).toEqual({
    code: 0,
    stdout: '',
    stderr: '',
  });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const first = JSON.parse(readFileSync(file, 'utf8'));
  expect(first).toMatchObject({ group: 'team', nats: 'nats://10.0.0.5:4222' });
  expect(bloomery(['share', 'invite', file, '--group', 'team']).stderr).toMatch('exists already; --force');
  expect(bloomery(['share', 'renew', file]).code).toBe(0);
  const second = JSON.parse(readFileSync(file, 'utf8'));
  expect(second).toEqual({ ...first, secret: expect.any(String) });
  expect(second.secret).not.toBe(first.secret);
  expect(bloomery(['share', 'invite', join(folder, 'x'), '--group', 'No Group']).stderr).toMatch(
    'expected a group of up to 32 letters',
  );
});

test('share --dry-run lists all files that would be shared, and why others are left out', () => {
  const docs = newFolder('listed', {
    'a.md': 'a',
    'b.txt': 'bb',
    '.env': 'secret',
    '.gitignore': 'out.txt',
    '.bloomeryignore': '*.tmp',
    'out.txt': '',
    'c.tmp': '',
  });
  symlinkSync('/etc/passwd', join(docs, 'link'));
  bloomery(['share', 'invite', join(folder, 'dry.json'), '--group', 'team']);
  const words = ['share', docs, '--invite', join(folder, 'dry.json'), '--dry-run'];
  const { code, stdout } = bloomery(words);
  expect(code).toBe(0);
  expect(stdout).toContain('is shared with the group team: 2 files, 3 B: 1 md, 1 txt\n  a.md\n  b.txt\n');
  expect(stdout).toContain('left out: 3 hidden, 2 ignored, 1 link');
  const [list] = JSON.parse(bloomery([...words, '--json']).stdout);
  expect(list.files.map(({ path }: { path: string }) => path)).toEqual(['a.md', 'b.txt']);
  // Without a terminal there is no question, and nothing is shared without one.
  const refused = bloomery(['share', docs, '--invite', join(folder, 'dry.json')]);
  expect(refused.stderr).toMatch('--yes shares without asking');
  expect(refused.code).toBe(2);
});

test.each([
  [['share', '/nonexistent', '--invite', 'x.json'], 'is no folder; name a folder to share'],
  [['share', '.'], '. has no group; name one --invite FILE'],
  [['share'], 'name the group: --invite FILE'],
  [['share', '--invite', 'missing.json'], 'cannot be read; --invite names the invitation'],
  [['share', '--invite', 'bad.json'], 'expected a file that "bloomery share invite" wrote'],
  [['find', 'word', '--state', 'none.json'], 'no share runs here; start "bloomery share"'],
  [['find'], 'name the words to search for'],
])('%j is refused in one line', (words, message) => {
  writeFileSync(join(folder, 'bad.json'), '{"a":1}');
  const { code, stderr } = bloomery(words, { cwd: folder });
  expect(code).toBe(2);
  expect(stderr).toContain(message);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
});

async function startShare(id: string, docs: string): Promise<string> {
  const state = join(folder, `${id}.state`);
  const words = [
    'share',
    docs,
    '--invite',
    invitation,
    '--id',
    id,
    '--state',
    state,
    '--yes',
    '--heartbeat',
    '500',
  ];
  const child = startBloomery(words);
  onTestFinished(() => void child.kill('SIGKILL'));
  for await (const line of createInterface({ input: child.stdout })) {
    expect(line).toMatch(`${id} shares`);
    break;
  }
  child.stdout.resume();
  return state;
}

test('find searches the folders of all members, with snippets, phrases, names, types and holders', async () => {
  await using server = await NatsServer.start();
  bloomery(['share', 'invite', invitation, '--group', 'team', '--nats', server.url]);
  const docs = newFolder('bobs', {
    'report.txt': 'bloom filters\nare small',
    'page.html': '<p>Bloom <i>again</i>',
  });
  const anna = await startShare('anna', newFolder('annas', { 'one.md': 'a counting bloom filter counts' }));
  const bob = await startShare('bob', docs);
  expect(statSync(bob).mode & 0o777).toBe(0o600);
  const find = (...words: string[]) => bloomery(['find', '--state', anna, ...words]);
  const run = await eventually(async () => {
    const found = find('bloom', 'filter');
    return found.stderr.includes('of 3;') && found;
  });
  expect(run.code).toBe(0);
  expect(run.stdout).toMatch(/^1\. \S+ {2}(anna|bob) \(team\), \d{4}-\d\d-\d\d, \d+ B\n {3}/);
  expect(run.stdout).toContain('   bloom filters are small\n');
  expect(run.stderr).toMatch(/^3 of 3 matching files, of 3; 1 peers asked, \d+ B\n$/);
  const paths = (...words: string[]) =>
    JSON.parse(find('--json', ...words).stdout).results.map(({ path }: { path: string }) => path);
  expect(paths('"counting bloom"')).toEqual(['one.md']);
  expect(paths('name:report')).toEqual(['report.txt']);
  expect(paths('bloom', 'type:html')).toEqual(['page.html']);
  expect(find('xylophone').code).toBe(1);
  const holders = find('--holders', join(docs, 'report.txt'));
  expect([holders.code, holders.stdout]).toEqual([0, 'bob (team): report.txt\n']);
  expect(find('--holders', invitation).code).toBe(1);

  // A saved file is found, and a new secret reaches the shares that run.
  writeFileSync(join(docs, 'new.txt'), 'marimba');
  await eventually(async () => find('marimba').code === 0);
  const before = JSON.parse(bloomery(['share', 'status', '--state', anna, '--json']).stdout);
  expect(before.groups[0].peers).toMatchObject([{ id: 'bob', isOnline: true, documents: 3 }]);
  expect(bloomery(['share', 'status', '--state', anna]).stdout).toContain('  bob: online, 3 files');
  bloomery(['share', 'renew', invitation]);
  const [{ since }] = before.groups[0].peers;
  await eventually(async () => {
    const { stdout } = bloomery(['share', 'status', '--state', anna, '--json']);
    const [{ peers }] = JSON.parse(stdout).groups;
    // Both have joined again, under the new secret.
    return peers.length === 1 && peers[0].isOnline && peers[0].isCurrent && peers[0].since > since;
  });
  expect(find('marimba').code).toBe(0);
  // The file of the state is that of a share that runs.
  const second = bloomery(['share', '--invite', invitation, '--id', 'carl', '--state', anna, '--yes']);
  expect([second.code, second.stderr]).toEqual([2, expect.stringContaining('belongs to a share that runs')]);
});
