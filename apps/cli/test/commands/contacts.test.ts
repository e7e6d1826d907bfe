/** `contacts` on files, mails, folders of friends, and over real programs. */

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findPart, keyedFilter, openSealed, sealFilter } from '@bloomery/overlay/private';
import { describe, expect, test } from 'vitest';
import { bloomery, COMMAND, startBloomery, temporaryFolder } from '../run-command.ts';

const cwd = temporaryFolder();
const run = (args: readonly string[], input: string | Uint8Array = '') =>
  bloomery(['contacts', ...args], { cwd, input });
const put = (name: string, bytes: string | Uint8Array) => writeFileSync(join(cwd, name), bytes);
const get = (name: string) => readFileSync(join(cwd, name));

const MAIL = 'From: Eve <Eve@Example.net>\nTo: bob@example.org\nSubject: hi\n\nHello, Bob.\n';
put('ann.vcf', 'BEGIN:VCARD\nEMAIL:Eve@example.net\nEMAIL:dan@example.org\nEND:VCARD\n');
put('ann.csv', 'Name,E-mail\nEve,eve@example.net\nCarol,carol@example.org\n');
put('sent', 'From ann Mon Jan  1 00:00:00 2024\nTo: Joe <joe@example.org>, eve@example.net\n\nhi\n');
put('bob.txt', 'joe@example.org\neve@example.net\nzoe@example.org\n');
put('pair.key', randomBytes(16));
mkdirSync(join(cwd, 'friends'));
put('friends/ann@example.org.key', get('pair.key'));
const friends = ['--friends', 'friends'];
const make = (output: string, ...args: string[]) =>
  run(['filter', 'ann.vcf', '--key-file', 'pair.key', '--from', 'Ann@example.org', '-o', output, ...args]);

test('list prints the addresses of every kind of file in one spelling', () => {
  expect(run(['list', 'ann.vcf', 'ann.csv', 'sent'])).toEqual({
    code: 0,
    stdout: 'eve@example.net\ndan@example.org\ncarol@example.org\njoe@example.org\n',
    stderr: '',
  });
  expect(run(['list', '-'], 'nothing\nann@example.org\n')).toMatchObject({
    code: 0,
    stdout: 'ann@example.org\n',
    stderr: expect.stringContaining('1 entries are no addresses'),
  });
  expect(JSON.parse(run(['list', '--json', '--column', 'E-mail', 'ann.csv']).stdout).addresses).toHaveLength(
    2,
  );
  expect(run(['list', '--column', 'Phone', 'ann.csv'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('column Phone'),
  });
  expect(run(['list', '-'], 'nothing').code).toBe(2);
  expect(run(['list', '--fields', 'from', '--format', 'mbox', '-'], MAIL).stdout).toBe('eve@example.net\n');
});

describe('a filter for a friend', () => {
  test('is sealed, keyed, and opens for the friend alone', () => {
    expect(make('for-bob.share')).toEqual({ code: 0, stdout: '', stderr: '' });
    const pair = { secret: get('pair.key'), from: 'ann@example.org' };
    const { filter, issued } = openSealed(get('for-bob.share'), pair);
    expect([filter.has('eve@example.net'), filter.has('dan@example.org')]).toEqual([true, true]);
    expect(Math.abs(issued - Date.now() / 1000)).toBeLessThan(600);
    expect(make('for-bob.share').stderr).toContain('exists already');
    expect(make('padded.share', '--pad').code).toBe(0);
    expect(openSealed(get('padded.share'), pair).filter.capacity).toBe(64);
    expect(run(['filter', 'ann.vcf', '--key-file', 'pair.key', '--from', 'ann', '-o', 'x']).code).toBe(2);
    expect(
      run(['filter', 'ann.vcf', '--key-file', 'ann.csv', '--from', 'a@b.c', '-o', 'x']).stderr,
    ).toContain('is no key');
  });

  test('goes with a mail, is kept by the friend, and answers', () => {
    make('mailed.share', '--force');
    const mail =
      'From: Ann <ann@example.org>\r\nTo: bob@example.org\r\nContent-Type: text/plain\r\n\r\nH\xe4llo\r\n';
    const attached = bloomery(['contacts', 'attach', 'mailed.share'], {
      cwd,
      input: Buffer.from(mail, 'latin1'),
    });
    expect(attached.code).toBe(0);
    put('attached.eml', Buffer.from(attached.stdout));
    expect(findPart(attached.stdout)).toEqual(new Uint8Array(get('mailed.share')));
    expect(run(['check', ...friends, 'eve@example.net']).stdout).toBe('eve@example.net: no friend\n');
    expect(run(['receive', ...friends], attached.stdout)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(get('friends/ann@example.org.share')).toEqual(get('mailed.share'));
    expect(run(['receive', ...friends], attached.stdout).code).toBe(0);
    expect(run(['check', ...friends, 'Eve@Example.net'])).toEqual({
      code: 0,
      stdout: 'eve@example.net: ann@example.org\n',
      stderr: '',
    });
    expect(run(['check', ...friends, 'eve@example.net', 'nobody@example.com'])).toMatchObject({
      code: 1,
      stdout: 'eve@example.net: ann@example.org\nnobody@example.com: no friend\n',
    });
    expect(run(['check', '-q', ...friends], MAIL)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(JSON.parse(run(['check', '--json', ...friends, 'eve@example.net']).stdout)).toEqual({
      answers: [
        {
          address: 'eve@example.net',
          own: false,
          friends: ['ann@example.org'],
          falseAlarmRate: expect.any(Number),
        },
      ],
    });
    expect(run(['check', ...friends, '--own', 'bob.txt', 'zoe@example.org']).stdout).toBe(
      'zoe@example.org: own contacts\n',
    );
    expect(run(['check', ...friends, 'nothing']).code).toBe(2);
  });

  test('an older, a forged and an unknown one are not kept', () => {
    make('newest.share', '--force');
    expect(run(['receive', ...friends, '--from', 'ann@example.org', 'newest.share']).code).toBe(0);
    const kept = get('friends/ann@example.org.share');
    const pair = { secret: get('pair.key'), from: 'ann@example.org' };
    put('old.share', sealFilter(keyedFilter(['x@example.org'], pair), { ...pair, issued: 1000 }));
    expect(run(['receive', ...friends, '--from', 'ann@example.org', 'old.share'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is older than the one that is there'),
    });
    const eve = { secret: randomBytes(16), from: 'ann@example.org' };
    put('forged.share', sealFilter(keyedFilter(['x@example.org'], eve), { ...eve, issued: 2e9 }));
    expect(run(['receive', ...friends, '--from', 'ann@example.org', 'forged.share'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('expected the seal of ann@example.org'),
    });
    expect(run(['receive', ...friends, '--from', 'eve@example.net', 'forged.share']).stderr).toContain(
      'no secret for',
    );
    expect(run(['receive', ...friends], MAIL).stderr).toContain('carries no filter');
    expect(get('friends/ann@example.org.share')).toEqual(kept);
  });
});

describe('mark', () => {
  test('passes a mail on with one field, in the place of those that came with it', () => {
    make('mark.share', '--force');
    run(['receive', ...friends, '--from', 'ann@example.org', 'mark.share']);
    const known = run(['mark', ...friends], MAIL);
    expect(known).toMatchObject({ code: 0, stderr: '' });
    expect(known.stdout).toMatch(
      /^X-Bloomery-Known: yes; by=ann@example\.org; by-chance=0\.\d{4}\nFrom: Eve/,
    );
    expect(known.stdout.split('\n').slice(1).join('\n')).toBe(MAIL);
    const unknown = MAIL.replace('Eve@Example.net', 'spam@example.com').replace(
      'Subject',
      'x-bloomery-known: yes\nSubject',
    );
    expect(run(['mark', ...friends], unknown).stdout).toBe(
      `X-Bloomery-Known: no\n${unknown.replace('x-bloomery-known: yes\n', '')}`,
    );
    expect(run(['mark', '--own', 'bob.txt', ...friends], MAIL).stdout).toMatch(
      /^X-Bloomery-Known: yes; by=own\n/,
    );
  });

  test('bytes that are no text, and CRLF, come out as they went in', () => {
    const input = Buffer.from('From: x@example.org\r\n\r\n\xff\x00\xe4\r\n', 'latin1');
    const { stdout } = run(['mark', ...friends], input);
    expect(stdout.startsWith('X-Bloomery-Known: no\r\nFrom: x@example.org\r\n\r\n')).toBe(true);
    put('raw.eml', input);
    const shell = `'${process.execPath}' '${COMMAND}' contacts mark --friends friends < raw.eml | tail -c 5 | od -An -tx1`;
    expect(bloomerySh(shell)).toBe('ff 00 e4 0d 0a');
  });

  test('--receive keeps a filter; a forged one changes nothing, and the mail passes', () => {
    make('sent.share', '--force');
    const mail = 'From: ann@example.org\n\nhi\n';
    const sent = bloomery(['contacts', 'attach', 'sent.share'], { cwd, input: mail }).stdout;
    writeFileSync(join(cwd, 'friends/ann@example.org.share'), 'damaged');
    const result = run(['mark', '--receive', ...friends], sent);
    expect(result.code).toBe(0);
    expect(get('friends/ann@example.org.share')).toEqual(get('sent.share'));
    const forged = sent.replace('ann@example.org', 'eve@example.net');
    const passed = run(['mark', '--receive', ...friends], forged);
    expect([passed.code, passed.stdout.endsWith(forged.slice(forged.indexOf('\n\n')))]).toEqual([0, true]);
    expect(passed.stderr).toContain('was not kept');
    expect(existsSync(join(cwd, 'friends/eve@example.net.share'))).toBe(false);
  });

  test('a mail is never lost: it passes even if there is no folder of friends', () => {
    const { code, stdout, stderr } = run(['mark', '--friends', 'missing'], MAIL);
    expect(code).toBe(0);
    expect(stdout).toBe(`X-Bloomery-Known: unknown; error\n${MAIL}`);
    expect(stderr).toContain('the mail passes unmarked');
  });
});

describe('overlap', () => {
  const serve = (...args: string[]) => [
    '--',
    process.execPath,
    COMMAND,
    'contacts',
    'overlap',
    '--serve',
    ...args,
  ];
  put('ann.txt', 'Eve@example.net\njoe@example.org\nann@example.org\n');

  test('prints the common contacts, or only how many there are', () => {
    expect(run(['overlap', 'ann.txt', ...serve('bob.txt')])).toEqual({
      code: 0,
      stdout: 'eve@example.net\njoe@example.org\n',
      stderr: '',
    });
    expect(run(['overlap', '-c', 'ann.txt', ...serve('--count', 'bob.txt')]).stdout).toBe('2\n');
    const { stdout, stderr } = run([
      'overlap',
      '--json',
      '--stats',
      '--pad',
      'ann.txt',
      ...serve('--pad', 'bob.txt'),
    ]);
    expect(JSON.parse(stdout)).toEqual({
      commonCount: 2,
      common: ['eve@example.net', 'joe@example.org'],
      ownSize: 3,
      peerSize: 64,
    });
    expect(stderr).toBe('2 common contacts: 3 here, 64 on the other side\n');
    put('none.txt', 'x@example.org\n');
    expect(run(['overlap', 'none.txt', ...serve('bob.txt')])).toMatchObject({ code: 1, stdout: '' });
  });

  test('both sides can keep the result', () => {
    expect(run(['overlap', '-o', 'mine.out', 'ann.txt', ...serve('-o', 'theirs.out', 'bob.txt')]).code).toBe(
      0,
    );
    expect(String(get('mine.out'))).toBe('eve@example.net\njoe@example.org\n');
    expect(String(get('theirs.out'))).toBe('joe@example.org\neve@example.net\n');
  });

  test('a secret of the pair keeps others out, and the number of guesses is limited', () => {
    expect(
      run(['overlap', '--key-file', 'pair.key', 'ann.txt', ...serve('--key-file', 'pair.key', 'bob.txt')])
        .stdout,
    ).toContain('eve@');
    expect(run(['overlap', 'ann.txt', ...serve('--key-file', 'pair.key', 'bob.txt')])).toMatchObject({
      code: 1,
      stdout: '',
    });
    const limited = run(['overlap', 'ann.txt', ...serve('--max-guesses', '2', 'bob.txt')]);
    expect(limited.code).toBe(2);
    expect(limited.stderr).toContain('expected at most 2 keys, got 3');
    expect(run(['overlap', '--max-guesses', '2', 'ann.txt', ...serve('bob.txt')]).stderr).toContain(
      '--max-guesses',
    );
  });

  test('says what is wrong with the other side, or with the words', () => {
    expect(run(['overlap', 'ann.txt', ...serve('--count', 'bob.txt')]).stderr).toMatch(
      /--count|before the session was over/,
    );
    // A program that gives back what it gets is another initiator.
    expect(run(['overlap', 'ann.txt', '--', 'cat']).stderr).toMatch(/got two; the side .* must have --serve/);
    expect(run(['overlap', 'ann.txt', '--', 'echo', 'hello']).stderr).toContain(
      'answered "hello" instead of a session',
    );
    expect(run(['overlap', 'ann.txt', '--', 'true']).stderr).toContain('before the session was over');
    expect(run(['overlap', 'ann.txt', '--', 'no-such-program']).stderr).toContain('no such program');
    expect(run(['overlap', 'ann.txt', '--']).stderr).toContain('expected files before --');
    expect(run(['overlap', 'ann.txt']).stderr).toContain('expected files before --');
    expect(run(['overlap', '--serve', '-']).stderr).toContain('name a file');
    expect(run(['overlap', '--serve', 'bob.txt'], 'GET / HTTP/1.1').stderr).toContain('instead of a session');
    expect(run(['overlap', '-c', '-o', 'x', 'ann.txt', ...serve('bob.txt')]).code).toBe(2);
  });

  test('a silent other side is given up, and a signal ends it', async () => {
    const silent = run([
      'overlap',
      '--silence',
      '0.2',
      'ann.txt',
      '--',
      'sh',
      '-c',
      'printf B; exec sleep 30',
    ]);
    expect(silent.stderr).toContain('nothing came from the other side for 0.2 s');
    const waiting = startBloomery(['contacts', 'overlap', '--serve', 'bob.txt'], cwd);
    waiting.stdin.write('B');
    const closed = once(waiting, 'exit');
    waiting.kill('SIGTERM');
    expect((await closed)[1] ?? 'SIGTERM').toBe('SIGTERM');
  });
});

function bloomerySh(script: string): string {
  return execFileSync('sh', ['-c', script], { cwd }).toString().trim();
}
