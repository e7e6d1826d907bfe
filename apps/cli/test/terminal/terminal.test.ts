/**
 * The command as a person sees it: in a real terminal (tmux), with colours, progress and keys
 * pressed.
 */

import { spawnSync } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeZipfCapture } from '@bloomery/testkit/captures/zipf-capture';
import { eventually } from '@bloomery/testkit/eventually';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bloomery, COMMAND, temporaryFolder } from '../run-command.ts';

const folder = temporaryFolder();
const SOCKET = `bloomery-test-${process.pid}`;
const tmux = (...args: string[]) => {
  const { status, stdout, stderr } = spawnSync('tmux', ['-L', SOCKET, ...args]);
  expect(stderr.toString(), `tmux ${args[0]} (Debian: apt-get install tmux)`).toBe('');
  expect(status).toBe(0);
  return stdout.toString();
};

beforeAll(() => {
  const lines = Array.from({ length: 60_000 }, (_, i) => `https://example.org/objects/${i}/page.html`);
  writeFileSync(join(folder, 'keys.txt'), `${lines.join('\n')}\n`);
  writeFileSync(join(folder, 'bloomery'), `#!/bin/sh\nexec "${process.execPath}" "${COMMAND}" "$@"\n`, {
    mode: 0o755,
  });
  tmux(
    '-f',
    '/dev/null',
    'new-session',
    '-d',
    '-x',
    '100',
    '-y',
    '40',
    'env PS1="> " bash --norc --noprofile',
  );
  type(`cd ${folder}; PATH=$PWD:$PATH`);
});

afterAll(() => {
  spawnSync('tmux', ['-L', SOCKET, 'kill-server']);
});

function type(line: string): void {
  tmux('send-keys', '-l', line);
  tmux('send-keys', 'Enter');
}

/** Waits until the screen shows something; `escapes` keeps colour codes. */
async function screen(wanted: RegExp, escapes = false, withinMs = 30_000): Promise<string> {
  let shown = '';
  await eventually(() => {
    shown = tmux('capture-pane', '-p', ...(escapes ? ['-e'] : []));
    return wanted.test(shown);
  }, withinMs).catch(() => expect(shown).toMatch(wanted));
  return shown;
}

test('progress while it works, a summary when it is done, and no trace of the bar', async () => {
  type(
    'clear; (for i in 1 2 3 4; do cat keys.txt; sleep 0.6; done) | bloomery build -o slow.blm; echo done=$?',
  );
  await screen(/building [\d.]+ MB {2}[\d.]+ [kM]?B\/s/);
  const shown = await screen(/done=0/);
  expect(shown).toMatch(/slow\.blm: 240,000 keys in \d+ kB, 9\.\d+ bits per key, false positives .* %/);
  expect(shown).not.toMatch(/building/);
});

test('flows --interval prints its lists without a bar between them', async () => {
  const path = join(folder, 'zipf.pcap');
  writeZipfCapture({ path, packets: 250_000, flows: 100, order: 'mixed', seed: 1 });
  type(
    'clear; (head -c 15000000 zipf.pcap; sleep 1; tail -c +15000001 zipf.pcap) | bloomery flows --interval 1s --top 1; echo done=$?',
  );
  const shown = await screen(/done=0/);
  expect(shown.match(/^[\d,]+ packets, /gm)).toEqual([
    '100,000 packets, ',
    '100,000 packets, ',
    '50,000 packets, ',
  ]);
  expect(shown).not.toMatch(/reading/);
});

test('flows --live draws the state of a pipe again and again, and Ctrl-C leaves the answer', async () => {
  const path = join(folder, 'live.pcap');
  writeZipfCapture({ path, packets: 20_000, flows: 50, order: 'mixed', seed: 4 });
  const middle = Math.floor(statSync(path).size / 2);
  type(
    `clear; (head -c ${middle} live.pcap; until [ -e go ]; do sleep 0.1; done; tail -c +${middle + 1} live.pcap; sleep 99) | bloomery flows --live --top 2`,
  );
  const first = await screen(/^[\d,]+ packets, .* in \d+ flows/m);
  expect(first).not.toMatch(/^20,000 packets/m);
  expect(first).toContain('exact: every flow was counted');
  writeFileSync(join(folder, 'go'), '');
  const second = await screen(/^20,000 packets, /m);
  expect(second.match(/ (tcp|udp) *$/gm)).toHaveLength(2);
  expect(second).not.toMatch(/^>/m);
  tmux('send-keys', 'C-c');
  // The shell comes back with its own screen, and the last list is on it.
  expect(await screen(/^>/m)).toMatch(/^20,000 packets, [\s\S]* (tcp|udp)\n\s*> *$/m);
});

test('cache --demo leaves its fleet and its console open at a terminal, until Ctrl-C', async () => {
  type('clear; bloomery cache --demo; echo done=$?');
  const shown = await screen(/Their page Neighbours shows/, false, 120_000);
  // The node that the last scene killed has no console.
  expect(shown).toMatch(/shows anvil, which was killed, as down/);
  const port = /:(\d+)\/\.bloomery\/console\//.exec(shown.slice(shown.indexOf('look at it')))?.[1];
  const page = `http://127.0.0.1:${port}/.bloomery/console/`;
  expect((await fetch(page)).status).toBe(200);
  const requests = async () => {
    const { answers } = (await (await fetch(new URL('../answers', page))).json()) as {
      answers: { id: number }[];
    };
    return answers.at(-1)?.id ?? 0;
  };
  // It moves: requests come, although the last scene is over.
  const before = await requests();
  await eventually(async () => (await requests()) > before + 5, 60_000, 'five more requests');
  tmux('send-keys', 'C-c');
  await screen(/done=0/);
  await expect(fetch(page)).rejects.toThrow();
});

test('errors are red on a terminal, and not with NO_COLOR', async () => {
  // Another word each time: what is still on the screen from before must not be taken for the
  // answer.
  type('clear; bloomery check nowhere.blm keys.txt; echo red=$?');
  expect(await screen(/red=2/, true)).toContain('\u001b[31merror:');
  type('clear; NO_COLOR=1 bloomery check nowhere.blm keys.txt; echo plain=$?');
  const plain = await screen(/plain=2/, true);
  expect(plain).toContain('error: nowhere.blm: no such file');
  expect(plain).not.toContain('\u001b[31m');
});

test('a filter is not poured out on a terminal', async () => {
  type('clear; bloomery build keys.txt -o -; echo dash=$?');
  expect(await screen(/dash=2/)).toContain('standard output is a terminal; name a file, or pipe it on');
});

test('lines and head', async () => {
  type(
    'clear; bloomery build keys.txt -o k.blm -q; set -o pipefail; bloomery check k.blm keys.txt | head -n 2; echo head=$?',
  );
  const shown = await screen(/head=\d/);
  expect(shown).toMatch(
    /objects\/0\/page\.html\nhttps:\/\/example\.org\/objects\/1\/page\.html\nhead=(0|141)/,
  );
  expect(shown).not.toMatch(/error/);
});

test('Ctrl-C ends it and leaves no file', async () => {
  type('clear; (cat keys.txt; sleep 60) | bloomery build -o never.blm');
  await screen(/building|MB/);
  tmux('send-keys', 'C-c');
  // The shell drops what is typed before it has the terminal back.
  await screen(/^> ?$/m);
  type('echo; ls -a | grep never; echo end');
  const shown = await screen(/^end/m);
  expect(shown).not.toMatch(/^\.?never/m);
});

test('without a terminal nothing but data', () => {
  const { stdout, stderr } = bloomery(['build', join(folder, 'keys.txt'), '-o', '-']);
  expect(stdout.startsWith('BLMY')).toBe(true);
  expect(stderr).toBe('');
});
