import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Random } from '@bloomery/testkit/statistics';
import { HashList } from 'bloomery';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { listKey, pageId } from '../../src/annotations/pages/page-id.ts';
import { FilterFollower } from '../../src/annotations/publication/filter-follower.ts';
import { SqliteNotes } from '../../src/annotations/server/sqlite-notes.ts';
import { Database, ServiceLab } from './service-lab.ts';

const PAGE = 'https://example.org/a';
let lab: ServiceLab;
let ada: string;
let bob: string;
let mod: string;

beforeEach(async () => {
  lab = await new ServiceLab().start();
  [ada, bob, mod] = [lab.addUser('ada'), lab.addUser('bob'), lab.addUser('mod', true)];
});

afterEach(() => lab.close());

const add = (token: string, text: string, extra: object = {}) =>
  lab.ask('/v1/notes', { token, body: { group: 'public', url: PAGE, text, ...extra } });
const code = (reply: { body: { error?: { code: string } } }) => reply.body.error?.code;

async function follow(group: string, held?: FilterFollower) {
  const follower = held ?? new FilterFollower({ group, keys: [lab.publicKey], random: () => 0 });
  const nowS = lab.nowMs / 1000 + 7200;
  for (let step = follower.next(nowS); step.kind === 'fetch'; step = follower.next(nowS)) {
    const response = await fetch(`http://127.0.0.1:${lab.service.port}/f/${group}/${step.file}`);
    if (response.ok) await follower.receive(step.file, new Uint8Array(await response.arrayBuffer()), nowS);
    else follower.fail(step.file, nowS);
  }
  return follower;
}

test('a note is found by the prefix of its page, and its page by the published list', async () => {
  const { status, body } = await add(ada, 'first');
  const id = await pageId(PAGE);
  expect([status, body.page]).toEqual([200, Buffer.from(id).toString('hex')]);
  await add(bob, 'reply', { parent: body.id });
  const notes = await lab.notesOf(id);
  expect(notes.map((note: { author: string; text: string }) => [note.author, note.text])).toEqual([
    ['ada', 'first'],
    ['bob', 'reply'],
  ]);
  expect(notes[1].parent).toBe(body.id);
  expect(JSON.stringify(notes)).not.toContain('example.org');
  lab.nowMs += 3_600_000;
  await lab.service.publish();
  const follower = await follow('public');
  expect(HashList.decode(follower.held!.frame).has(PAGE)).toBe(true);
  await lab.ask(`/v1/notes/${body.id}`, { token: ada, method: 'DELETE' });
  expect(
    (await lab.notesOf(id)).map((note: { text: string; state: string }) => [note.text, note.state]),
  ).toEqual([
    ['', 'deleted'],
    ['reply', 'visible'],
  ]);
  await lab.ask(`/v1/notes/${notes[1].id}`, { token: bob, method: 'DELETE' });
  expect(await lab.notesOf(id)).toEqual([]);
  lab.nowMs += 3_600_000;
  await lab.service.publish();
  await follow('public', follower);
  expect(HashList.decode(follower.held!.frame).has(PAGE)).toBe(false);
});

test('a request may be repeated with its id, and never takes the place of another note', async () => {
  const id = '0123456789abcdef0123456789abcdef';
  expect((await add(ada, 'once', { id })).body.id).toBe(id);
  expect((await add(ada, 'once', { id })).status).toBe(200);
  expect(code(await add(ada, 'other', { id }))).toBe('exists');
  expect(code(await add(bob, 'once', { id }))).toBe('exists');
  expect((await lab.notesOf(await pageId(PAGE))).length).toBe(1);
});

test('only authors and moderators delete, only moderators hide', async () => {
  const { body } = await add(ada, 'mine');
  const path = `/v1/notes/${body.id}`;
  expect(code(await lab.ask(path, { token: bob, method: 'DELETE' }))).toBe('forbidden');
  expect(code(await lab.ask(`${path}/hide`, { token: ada, method: 'POST' }))).toBe('forbidden');
  expect((await lab.ask(`${path}/report`, { token: bob, method: 'POST' })).status).toBe(200);
  expect((await lab.ask(`${path}/report`, { token: bob, method: 'POST' })).status).toBe(200);
  expect(code(await lab.ask('/v1/moderation?group=public', { token: ada }))).toBe('forbidden');
  const { body: reported } = await lab.ask('/v1/moderation?group=public', { token: mod });
  expect(reported.notes).toMatchObject([{ id: body.id, reports: 1, url: PAGE }]);
  expect((await lab.ask(`${path}/hide`, { token: mod, method: 'POST' })).body).toEqual({ state: 'hidden' });
  expect(await lab.notesOf(await pageId(PAGE))).toEqual([]);
  await lab.ask(`${path}/show`, { token: mod, method: 'POST' });
  expect((await lab.notesOf(await pageId(PAGE))).length).toBe(1);
  expect((await lab.ask(path, { token: mod, method: 'DELETE' })).status).toBe(200);
  expect(code(await lab.ask(`${path}/show`, { token: mod, method: 'POST' }))).toBe('not-found');
});

test('a private group is absent for everyone but its members', async () => {
  const group = lab.notes.addGroup('team', { isPrivate: true, nowS: 0 });
  lab.notes.setMember('team', 'ada', true);
  await lab.service.publish();
  const { body } = await add(ada, 'secret', { group: 'team' });
  const absent = await lab.ask('/v1/notes?group=team&prefix=000000', { token: bob });
  const never = await lab.ask('/v1/notes?group=teem&prefix=000000', { token: bob });
  expect([absent.status, absent.body.error.message]).toEqual([
    404,
    never.body.error.message.replace('teem', 'team'),
  ]);
  expect(code(await lab.ask('/v1/notes?group=team&prefix=000000'))).toBe('not-found');
  expect(code(await add(bob, 'x', { group: 'team' }))).toBe('not-found');
  for (const [method, action] of [
    ['DELETE', ''],
    ['POST', '/report'],
    ['POST', '/hide'],
  ]) {
    expect(code(await lab.ask(`/v1/notes/${body.id}${action}`, { token: mod, method }))).toBe('not-found');
  }
  expect((await lab.ask('/v1/server')).body.groups.map(({ name }: { name: string }) => name)).toEqual([
    'public',
  ]);
  const mine = (await lab.ask('/v1/server', { token: ada })).body.groups;
  expect(mine.map(({ name }: { name: string }) => name)).toEqual(['public', 'team']);
  expect(mine[1].key).toBe(Buffer.from(group.key!).toString('hex'));
  expect((await lab.ask('/')).body).not.toContain('team');
  const id = await pageId(PAGE, group.key);
  expect((await lab.notesOf(id, 'team', ada)).length).toBe(1);
  lab.nowMs += 3_600_000;
  await lab.service.publish();
  const follower = await follow('team');
  const key = await listKey(group.key!);
  expect(HashList.decode(follower.held!.frame, { key }).has(PAGE)).toBe(true);
  lab.notes.setMember('team', 'ada', false);
  expect(code(await lab.ask('/v1/notes?group=team&prefix=000000', { token: ada }))).toBe('not-found');
});

test('tokens are stored as digests; renewed and disabled ones are refused', async () => {
  const bytes = readdirSync(lab.folder)
    .filter((name) => name.startsWith('notes.sqlite'))
    .map((name) => readFileSync(join(lab.folder, name)).toString('latin1'))
    .join('');
  expect(bytes).toContain('bob');
  for (const token of [ada, bob, mod]) expect(bytes).not.toContain(token);
  const renewed = lab.notes.renewToken('ada');
  expect((await add(ada, 'x')).status).toBe(401);
  expect((await add(renewed, 'x')).status).toBe(200);
  lab.notes.disableUser('bob');
  expect((await add(bob, 'x')).status).toBe(401);
  lab.notes.disableUser('bob', false);
  expect((await add(bob, 'x')).status).toBe(200);
  expect((await add('', 'x')).status).toBe(401);
});

test.each<[string, string, object, number, string]>([
  ['another path', '/v2', {}, 404, 'path'],
  ['another method', '/v1/notes', { method: 'PUT' }, 405, 'method'],
  ['no token', '/v1/notes', { body: {} }, 401, 'token'],
  ['a file that was never published', '/f/public/full-1', {}, 404, 'not-found'],
  ['another file of the server', '/f/public/..%2f..%2fnotes.sqlite', {}, 404, 'path'],
  ['a folder as a group', '/f/../head', {}, 404, 'path'],
  ['an encoded folder as a group', '/f/..%2f../head', {}, 400, 'field'],
  ['an unknown group', '/f/teem/head', {}, 404, 'not-found'],
  ['a longer prefix', '/v1/notes?group=public&prefix=0000000', {}, 400, 'prefix'],
  ['a shorter prefix', '/v1/notes?group=public&prefix=00000', {}, 400, 'prefix'],
  ['no group', '/v1/notes?prefix=000000', {}, 400, 'field'],
])('a request with %s is refused', async (_, path, options, status, expected) => {
  const reply = await lab.ask(path, options);
  expect([reply.status, code(reply)]).toEqual([status, expected]);
});

test('bodies that are no JSON, too long or of another type are refused', async () => {
  expect(code(await lab.ask('/v1/notes', { token: ada, body: '{' }))).toBe('body');
  expect((await lab.ask('/v1/notes', { token: ada, body: 'x'.repeat(40_000) })).status).toBe(413);
  const form = await fetch(`http://127.0.0.1:${lab.service.port}/v1/notes`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ada}`, 'content-type': 'text/plain' },
    body: JSON.stringify({ group: 'public', url: PAGE, text: 'by a form of another site' }),
  });
  expect(form.status).toBe(415);
});

test('a flood of notes, of questions and of wrong tokens is limited, with a time to come back', async () => {
  const statuses: number[] = [];
  for (let i = 0; i < 30; i++) statuses.push((await add(ada, `note ${i}`)).status);
  expect(statuses.filter((status) => status === 200).length).toBe(20);
  const refused = await add(ada, 'one more');
  expect([refused.status, code(refused), refused.headers.get('retry-after')]).toEqual([429, 'rate', '6']);
  expect((await add(bob, 'others may write')).status).toBe(200);
  lab.nowMs += 6_000;
  expect((await add(ada, 'after the pause')).status).toBe(200);
  for (let i = 0; i < 10; i++) expect((await add('x'.repeat(40), 'guess')).status).toBe(401);
  expect((await add('x'.repeat(40), 'guess')).status).toBe(429);
  let answered = 0;
  for (let i = 0; i < 80; i++)
    answered += +((await lab.ask('/v1/notes?group=public&prefix=000000')).status === 200);
  expect(answered).toBe(60);
});

test('a page takes 200 notes, and an answer is cut by pages', async () => {
  const author = lab.notes.userOfToken(ada)!;
  const note = { group: 'public', url: PAGE, parent: null, id: null };
  for (let i = 0; i < 200; i++) await lab.notes.addNote({ ...note, text: `${i}` }, author, { nowS: i });
  expect(code(await add(ada, 'one more'))).toBe('full');
  const text = 'x'.repeat(4000);
  for (let i = 0; i < 120; i++) {
    await lab.notes.addNote({ ...note, text, url: `https://example.org/${i}` }, author, { nowS: i });
  }
  const { pages, isCut } = lab.notes.pagesWithPrefix(lab.notes.group('public'), '', 2 ** 20);
  expect(isCut).toBe(true);
  expect(pages.length).toBeGreaterThan(50);
  const all = lab.notes.pagesWithPrefix(lab.notes.group('public'), '', 2 ** 30);
  expect([all.isCut, all.pages.length]).toEqual([false, 121]);
});

test('bytes that are no HTTP end the connection and nothing else', async () => {
  const random = new Random(6);
  for (let i = 0; i < 20; i++) {
    await new Promise<void>((resolve) => {
      const socket = connect(lab.service.port, '127.0.0.1', () => socket.end(random.bytes(500)));
      socket.on('close', () => resolve()).on('error', () => {});
      socket.resume();
    });
  }
  expect((await lab.ask('/v1/server')).status).toBe(200);
});

test('the page about the server allows no script, and shows the invitation', async () => {
  const { body, headers } = await lab.ask('/');
  expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(body).toContain(lab.service.invitation);
  expect(body).not.toContain('<script');
});

test('files of old publications go, damaged ones cost a full download, and epochs never repeat', async () => {
  const files = join(lab.publications.files, 'public');
  await add(ada, 'x');
  for (let hour = 0; hour < 5; hour++) {
    lab.nowMs += 3_600_000;
    await lab.service.publish();
  }
  const names = readdirSync(files).sort();
  expect(names.filter((name) => name.startsWith('full')).length).toBe(3);
  const [last] = names.filter((name) => name.startsWith('full')).slice(-1);
  writeFileSync(join(files, last), 'damaged');
  const [published] = await lab.service.publish();
  expect(published.epoch).toBe(Number(last.slice(5)) + 1);
  expect(Object.keys(published.bytes)).toEqual([`full-${published.epoch}`]);
  const follower = await follow('public');
  expect(follower.epoch).toBe(published.epoch);
  const steps = join(lab.folder, 'public', 'steps', 'public');
  lab.nowMs += 3_600_000;
  await lab.service.publish();
  for (const name of readdirSync(steps)) writeFileSync(join(steps, name), 'damaged');
  lab.nowMs += 3_600_000;
  expect(Object.keys((await lab.service.publish())[0].bytes).length).toBeGreaterThan(1);
  rmSync(files, { recursive: true });
  await lab.service.publish();
  await follow('public');
});

test('a backup is a whole database, and a file of another program is refused', async () => {
  await add(ada, 'kept');
  const path = join(lab.folder, 'backup.sqlite');
  lab.notes.backup(path);
  const copy = new SqliteNotes(path, Database);
  expect([...copy.everyNote()].map(({ text, url }) => [text, url])).toEqual([['kept', PAGE]]);
  expect(copy.userOfToken(ada)?.name).toBe('ada');
  copy.close();
  const other = new Database(join(lab.folder, 'other.sqlite'));
  other.exec('create table t (a); pragma user_version = 7');
  other.close();
  expect(() => new SqliteNotes(join(lab.folder, 'other.sqlite'), Database)).toThrow(
    /expected version 1, got 7/,
  );
});
