// The transcript of the command in README.md, made by running it on Debian's largest English word list.
//
//   node tools/transcript.mjs            runs everything, fails if a command does
//   node tools/transcript.mjs --write    and writes the README
//
// Word lists differ from release to release, so the tests run it but do not compare the figures.

import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const WORDS = '/usr/share/dict/american-english-huge';

/** Each line is typed into a shell; `code` is the exit code that it must have. */
const SESSION = [
  { line: 'bloomery plan --capacity 350k --rate 1%' },
  { line: `bloomery build ${WORDS} -o words.blm` },
  { line: 'bloomery info words.blm --no-picture' },
  { line: "tr A-Z a-z < LICENSE | tr -cs \"a-z'\" '\\n' | sort -u | bloomery check -v words.blm" },
  { line: `bloomery verify words.blm --keys ${WORDS}` },
  { comment: 'two halves, one filter' },
  { line: `head -n 200000 ${WORDS} | bloomery build -n 350k -o a.blm` },
  { line: `tail -n +200001 ${WORDS} | bloomery build -n 350k -o b.blm` },
  { line: 'bloomery union a.blm b.blm -o both.blm' },
  { line: `bloomery check both.blm ${WORDS} --count` },
  { comment: 'a summary to be sent: more bits, fewer hashes, coded' },
  { line: 'bloomery plan --capacity 350k --for transmission --message-bits-per-key 8 --max-bits 4900k' },
  { line: `head -n 340000 ${WORDS} | bloomery build -s bloom --bits 4900k --hashes 2 -n 350k -o monday.blm` },
  { line: `bloomery build ${WORDS} -s bloom --bits 4900k --hashes 2 -n 350k -o tuesday.blm` },
  { line: 'bloomery encode monday.blm -o monday.coded' },
  { line: 'bloomery delta monday.blm tuesday.blm -o changes.delta' },
  { line: 'bloomery apply monday.coded changes.delta -o now.blm && cmp now.blm tuesday.blm' },
  { line: 'wc -c monday.blm monday.coded changes.delta' },
];

const folder = mkdtempSync(join(tmpdir(), 'bloomery-transcript-'));
try {
  writeFileSync(
    join(folder, 'bloomery'),
    `#!/bin/sh\nexec "${process.execPath}" "${root}apps/cli/bin/bloomery.js" "$@"\n`,
  );
  chmodSync(join(folder, 'bloomery'), 0o755);
  copyFileSync(`${root}LICENSE`, join(folder, 'LICENSE'));
  const text = SESSION.map(run).join('');
  if (process.argv.includes('--write')) write(text);
  else
    console.log(
      `transcript: ${SESSION.filter(({ line }) => line).length} commands run as README.md shows them`,
    );
} finally {
  rmSync(folder, { recursive: true });
}

function run({ line, comment, code = 0 }) {
  if (comment !== undefined) return `\n# ${comment}\n`;
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
  if (status !== code) {
    console.error(`$ ${line}\n${stdout}${stderr}exit code ${status}, expected ${code}`);
    process.exit(1);
  }
  return `$ ${line}\n${stdout}`;
}

function write(text) {
  const path = `${root}README.md`;
  const before = readFileSync(path, 'utf8');
  const block = `<!-- transcript -->\n\n\`\`\`console\n${text.trim()}\n\`\`\`\n\n<!-- /transcript -->`;
  const after = before.replace(/<!-- transcript -->[\s\S]*<!-- \/transcript -->/, () => block);
  if (after === before && !before.includes(block)) {
    console.error('README.md has no place for the transcript');
    process.exit(1);
  }
  writeFileSync(path, after);
}
