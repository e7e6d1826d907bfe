// Makes the transcripts of the command in the documentation, most of them by running it on Debian's
// largest English word list.
//
//   node tools/transcript.mjs            runs every line, fails if one does not end as it should
//   node tools/transcript.mjs --write    and writes what was printed into the pages
//
// Word lists differ from release to release, so the tests run the lines and do not compare the
// figures.

import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const WORDS = '/usr/share/dict/american-english-huge';

/** @typedef {{ line: string, comment?: undefined } | { comment: string }} Step */

/**
 * Lines that are typed into a shell. Each must end with exit code 0.
 * @type {Record<string, Step[]>}
 */
const TRANSCRIPTS = {
  'README.md': [
    { line: `bloomery build ${WORDS} -o words.blm` },
    { line: `wc -c ${WORDS} words.blm` },
    { line: 'echo teh quick brown fox | tr " " "\\n" | bloomery check -v words.blm' },
    { line: `bloomery verify words.blm --keys ${WORDS}` },
  ],
  'docs/guide/cli.md': [
    { line: 'bloomery plan --capacity 350k --rate 1%' },
    { line: `bloomery build ${WORDS} -o words.blm` },
    { line: 'bloomery info words.blm --no-picture' },
    { line: "tr A-Z a-z < LICENSE | tr -cs \"a-z'\" '\\n' | sort -u | bloomery check -v words.blm" },
    { line: `bloomery verify words.blm --keys ${WORDS}` },
    { comment: 'two halves, one filter' },
    { line: `head -n 200000 ${WORDS} | bloomery build -N 350k -o a.blm` },
    { line: `tail -n +200001 ${WORDS} | bloomery build -N 350k -o b.blm` },
    { line: 'bloomery union a.blm b.blm -o both.blm' },
    { line: `bloomery check both.blm ${WORDS} --count` },
    { comment: 'a summary to be sent: more bits, fewer hashes, coded' },
    { line: 'bloomery plan --capacity 350k --for transmission --message-bits-per-key 8 --max-bits 4900k' },
    {
      line: `head -n 340000 ${WORDS} | bloomery build -s bloom --bits 4900k --hashes 2 -N 350k -o monday.blm`,
    },
    { line: `bloomery build ${WORDS} -s bloom --bits 4900k --hashes 2 -N 350k -o tuesday.blm` },
    { line: 'bloomery encode monday.blm -o monday.coded' },
    { line: 'bloomery delta monday.blm tuesday.blm -o changes.delta' },
    { line: 'bloomery apply monday.coded changes.delta -o now.blm && cmp now.blm tuesday.blm' },
    { line: 'wc -c monday.blm monday.coded changes.delta' },
  ],
  'docs/guide/simulation.md': [
    { line: 'bloomery simulate --zipf 0.8 --objects 20k --requests 40k --nodes 8 --cache-objects 500' },
  ],
};

let commands = 0;
for (const [page, session] of Object.entries(TRANSCRIPTS)) {
  const text = inFolder((folder) => session.map((step) => run(folder, step)).join(''));
  if (process.argv.includes('--write')) write(page, text);
}
console.log(`transcript: ${commands} commands run as ${Object.keys(TRANSCRIPTS).join(' and ')} show them`);

/**
 * Calls `work` with a new folder that holds the command and a text, and removes the folder.
 * @param {(folder: string) => string} work
 */
function inFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-transcript-'));
  try {
    const command = join(folder, 'bloomery');
    writeFileSync(command, `#!/bin/sh\nexec "${process.execPath}" "${root}apps/cli/bin/bloomery.js" "$@"\n`);
    chmodSync(command, 0o755);
    copyFileSync(`${root}LICENSE`, join(folder, 'LICENSE'));
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * @param {string} folder
 * @param {Step} step
 */
function run(folder, step) {
  if (step.comment !== undefined) return `\n# ${step.comment}\n`;
  const { line } = step;
  commands++;
  const { status, stdout, stderr } = spawnSync('bash', ['-o', 'pipefail', '-c', line], {
    cwd: folder,
    env: {
      ...process.env,
      PATH: `${folder}${delimiter}${process.env.PATH}`,
      COLUMNS: '100',
      NO_COLOR: '1',
      LC_ALL: 'C',
    },
  });
  if (status !== 0) throw new Error(`$ ${line}\n${stdout}${stderr}exit code ${status}, expected 0`);
  return `$ ${line}\n${stdout}`;
}

/**
 * @param {string} page
 * @param {string} text
 */
function write(page, text) {
  const path = join(root, page);
  const before = readFileSync(path, 'utf8');
  const place = /<!-- transcript -->[\s\S]*<!-- \/transcript -->/;
  if (!place.test(before)) throw new Error(`${page} has no place for a transcript`);
  const block = `<!-- transcript -->\n\n\`\`\`console\n${text.trim()}\n\`\`\`\n\n<!-- /transcript -->`;
  writeFileSync(
    path,
    before.replace(place, () => block),
  );
}
