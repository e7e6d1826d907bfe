/** `contacts check` and `contacts mark` in real mail filters: procmail and maildrop. */

import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bloomery, COMMAND, temporaryFolder } from '../run-command.ts';

const cwd = temporaryFolder();
const command = `${process.execPath} ${COMMAND}`;
const at = (name: string) => join(cwd, name);

writeFileSync(at('ann.txt'), 'eve@example.net\n');
writeFileSync(at('pair.key'), randomBytes(16));
mkdirSync(at('friends'));
writeFileSync(at('friends/ann@example.org.key'), readFileSync(at('pair.key')));
bloomery(
  [
    'contacts',
    'filter',
    'ann.txt',
    '--key-file',
    'pair.key',
    '--from',
    'ann@example.org',
    '-o',
    'for-bob.share',
  ],
  {
    cwd,
  },
);

const mailFrom = (sender: string) => `From: ${sender}\nTo: bob@example.org\nSubject: hi\n\nHello\n`;
const shareMail = bloomery(['contacts', 'attach', 'for-bob.share'], {
  cwd,
  input: mailFrom('ann@example.org'),
}).stdout;

/** Delivers a mail, and returns what the folders hold afterwards. */
function deliver(program: string, args: readonly string[], mail: string): void {
  const { status, stderr, error } = spawnSync(program, args, {
    cwd,
    input: mail,
    env: { ...process.env, HOME: cwd, USER: 'root', LOGNAME: 'root' },
  });
  if (error) throw error;
  expect([status, String(stderr)]).toEqual([0, '']);
}

const delivered = (folder: string) =>
  readdirSync(at(folder)).map((name) => readFileSync(join(at(folder), name), 'utf8'));

describe.each([
  {
    name: 'procmail',
    write: (folder: string) => {
      const rules = [
        'DEFAULT=$HOME/none/',
        'SHELL=/bin/sh',
        ':0 fw',
        `| ${command} contacts mark --receive --friends ${at('friends')}`,
        ':0',
        '* ^X-Bloomery-Known: yes',
        `${at(folder)}/known/`,
        ':0',
        `* ! ? ${command} contacts check -q --friends ${at('friends')}`,
        `${at(folder)}/unknown/`,
      ];
      writeFileSync(at('procmailrc'), `${rules.join('\n')}\n`, { mode: 0o600 });
      return { program: 'procmail', args: ['-m', at('procmailrc')] };
    },
    folders: ['known/new', 'unknown/new'],
  },
  {
    name: 'maildrop',
    write: (folder: string) => {
      const rules = [
        `xfilter "${command} contacts mark --receive --friends ${at('friends')}"`,
        'if (/^X-Bloomery-Known: yes/)',
        '{',
        `  to "${at(folder)}/known"`,
        '}',
        `to "${at(folder)}/unknown"`,
      ];
      writeFileSync(at('mailfilter'), `${rules.join('\n')}\n`);
      chmodSync(at('mailfilter'), 0o600);
      return { program: 'maildrop', args: [at('mailfilter')] };
    },
    folders: ['known/new', 'unknown/new'],
  },
])('$name', ({ name, write, folders }) => {
  test('sorts mails by who is known to a friend, after the friend sent a filter', () => {
    for (const box of ['known', 'unknown']) {
      for (const part of ['cur', 'new', 'tmp']) mkdirSync(at(`${name}/${box}/${part}`), { recursive: true });
    }
    const { program, args } = write(name);
    const [known, unknown] = folders.map((folder) => `${name}/${folder}`);
    deliver(program, args, shareMail);
    deliver(program, args, mailFrom('eve@example.net'));
    deliver(program, args, mailFrom('spam@example.com'));
    expect(delivered(known)).toHaveLength(1);
    expect(delivered(known)[0]).toContain('X-Bloomery-Known: yes; by=ann@example.org;');
    expect(delivered(known)[0]).toContain('From: eve@example.net\n');
    const others = delivered(unknown);
    expect(others).toHaveLength(2);
    expect(others.every((mail) => mail.includes('X-Bloomery-Known: no\n'))).toBe(true);
    expect(others.some((mail) => mail.includes('spam@example.com'))).toBe(true);
    expect(readFileSync(at('friends/ann@example.org.share'))).toEqual(readFileSync(at('for-bob.share')));
  });
});
