/** `bloomery annotations`: a server with users and groups, kills, exports and backups. */

import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withEffort } from '@bloomery/testkit/effort';
import { expect, test } from 'vitest';
import { bloomery, startBloomery, temporaryFolder } from '../run-command.ts';

const folder = temporaryFolder();
const PAGE = 'https://example.org/a';

/** Runs `bloomery annotations …`, which must succeed. Returns standard output. */
function annotations(...words: string[]): string {
  const { code, stdout, stderr } = bloomery(['annotations', ...words]);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

async function serve(dir: string) {
  const child = startBloomery(['annotations', 'serve', dir, '--listen', '127.0.0.1:0', '--json']);
  let stderr = '';
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  const [line] = await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(() => {
      throw new Error(stderr);
    }),
  ]);
  const { listening, invitation } = JSON.parse(String(line));
  const url = `http://127.0.0.1:${listening}`;
  return {
    url,
    invitation: invitation as string,
    async add(token: string, note: object) {
      const response = await fetch(`${url}/v1/notes`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ group: 'public', url: PAGE, ...note }),
      });
      return { status: response.status, body: (await response.json()) as { id: string } };
    },
    async end(signal: NodeJS.Signals = 'SIGTERM') {
      const ended = once(child, 'exit');
      child.kill(signal);
      await ended;
      return stderr;
    },
  };
}

const notesOf = (dir: string) =>
  annotations('export', dir)
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { id: string; text: string; state: string });

test('a server with users and groups, and everything that was written in an export', async () => {
  const dir = join(folder, 'served');
  const token = annotations('user', 'add', dir, 'ada').trim();
  annotations('user', 'add', dir, 'bob', '--moderator');
  annotations('group', 'add', dir, 'team', '--private');
  annotations('group', 'join', dir, 'team', 'ada', 'bob');
  annotations('group', 'leave', dir, 'team', 'bob');
  const server = await serve(dir);
  expect(server.invitation).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#[\w-]{43}$/);
  expect(statSync(join(dir, 'publisher')).mode & 0o077).toBe(0);
  const first = await server.add(token, { text: 'first' });
  expect(first.status).toBe(200);
  expect((await server.add(token, { group: 'team', text: 'secret' })).status).toBe(200);
  // While the server runs: moderation, a backup, and no second server or publisher.
  annotations('hide', dir, first.body.id);
  expect(annotations('reported', dir)).toContain('hidden');
  const copy = join(folder, 'copy');
  annotations('backup', dir, join(folder, 'backup.sqlite'));
  expect(existsSync(join(folder, 'backup.sqlite'))).toBe(true);
  expect(bloomery(['annotations', 'publish', dir]).code).toBe(2);
  expect(await server.end()).toBe('');
  annotations('show', dir, first.body.id);
  expect(JSON.parse(annotations('user', 'list', dir, '--json').split('\n')[1])).toEqual({
    name: 'bob',
    isModerator: true,
    isDisabled: false,
  });
  expect(annotations('group', 'list', dir)).toMatch(/team +private +1 +1/);
  expect(annotations('publish', dir)).toMatch(/public: 1 pages, epoch \d+ .*full .* u1 /);
  const exported = annotations('export', dir);
  writeFileSync(join(folder, 'notes.jsonl'), exported);
  annotations('group', 'add', copy, 'team', '--private');
  expect(annotations('import', copy, join(folder, 'notes.jsonl'))).toContain('2 of 2 notes are new');
  expect(annotations('import', copy, join(folder, 'notes.jsonl'))).toContain('0 of 2 notes are new');
  expect(notesOf(copy)).toEqual(notesOf(dir));
  expect(annotations('user', 'list', copy)).toMatch(/ada +locked out/);
});

test('what cannot be done is said in one line', () => {
  const dir = join(folder, 'refused');
  const failing = (...words: string[]) => {
    const { code, stderr } = bloomery(['annotations', ...words]);
    expect([code, stderr.trim().split('\n').length]).toEqual([2, 1]);
    return stderr;
  };
  expect(failing('user', 'list', dir)).toMatch(/notes.sqlite does not exist; bloomery annotations serve/);
  annotations('user', 'add', dir, 'ada');
  expect(failing('user', 'add', dir, 'ada')).toMatch(/expected a new name, got ada/);
  expect(failing('user', 'add', dir, 'Ada')).toMatch(/expected up to 32 of a-z/);
  expect(failing('user', 'renew', dir, 'eve')).toMatch(/Cannot find the user/);
  expect(failing('group', 'join', dir, 'none', 'ada')).toMatch(/Cannot find the group/);
  expect(failing('hide', dir, 'x')).toMatch(/Cannot find the note/);
  writeFileSync(join(folder, 'bad.jsonl'), '{"id":"1"}\n');
  expect(failing('import', dir, join(folder, 'bad.jsonl'))).toMatch(
    /bad.jsonl, line 1: .*; nothing was imported/,
  );
  writeFileSync(join(folder, 'bad.jsonl'), 'x\n');
  expect(failing('import', dir, join(folder, 'bad.jsonl'))).toMatch(/line 1: expected a note as JSON/);
  writeFileSync(join(dir, 'notes.sqlite'), readFileSync(join(folder, 'bad.jsonl')));
  expect(failing('user', 'list', dir)).toMatch(/not a database|expected version/i);
});

test('kill -9 loses no acknowledged note', async () => {
  const dir = join(folder, 'killed');
  const tokens = Array.from({ length: 8 }, (_, i) => annotations('user', 'add', dir, `user-${i}`).trim());
  const acknowledged = new Set<string>();
  for (let round = 0; round < withEffort(4, 2); round++) {
    const server = await serve(dir);
    let answered = 0;
    let killed = false;
    const enough = new Promise<void>((resolve) => {
      for (const [i, token] of tokens.entries()) {
        void (async () => {
          for (let n = 0; !killed && n < 20; n++) {
            const text = `round ${round}, user ${i}, note ${n}`;
            try {
              const { status, body } = await server.add(token, { text, url: `${PAGE}/${round}/${i}` });
              if (status !== 200) return;
              acknowledged.add(body.id);
              if (++answered === 20 + 17 * round) resolve();
            } catch {
              return; // the server was killed
            }
          }
        })();
      }
    });
    await enough;
    killed = true;
    await server.end('SIGKILL');
    const there = new Set(notesOf(dir).map(({ id }) => id));
    expect([...acknowledged].filter((id) => !there.has(id))).toEqual([]);
  }
  expect(acknowledged.size).toBeGreaterThan(40);
  // The folder of a killed server serves and publishes again.
  const server = await serve(dir);
  await server.end();
  expect(readdirSync(join(dir, 'public', 'files', 'public'))).toContain('head');
});
