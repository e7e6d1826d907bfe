// Only packages/bloomery/src/frames/ may know the bytes of frames. Code elsewhere that indexes
// bytes[5], masks bit 7 of a variant or contains a magic has copied a part of docs/spec/frame.md,
// and would not follow a change there. This program reads the sources and refuses such lines. It
// knows patterns, not types, and looks for the ways in which this was done before.

import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readWorkspaces } from './workspaces.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
/** The folder that may know the bytes of frames. */
const HOME = 'packages/bloomery/src/frames/';
/**
 * Files of other systems have their own offsets; the kernel and the hashes work on words, not
 * frames.
 */
const OTHERS = ['formats', 'kernel', 'hashing', 'keys', 'math'].map(
  (room) => `packages/bloomery/src/${room}/`,
);
/** Variable names of the bytes of frames, deltas and messages in our code. */
const BYTES = '(?:bytes|frame|head|header|message|delta|golden|inner|outer|part\\(\\d\\)|copy)';

const RULES = [
  { what: 'the magic of a frame, a delta or a sync message', pattern: /['"`]BLM[YDS]['"`]/ },
  {
    what: 'the magic of a frame, a delta or a sync message',
    pattern: /0x42,\s*0x4c,\s*0x4d,\s*0x(?:59|44|53)\b/i,
  },
  {
    what: 'the magic of a frame, a delta or a sync message',
    pattern: /0x424c4d(?:59|44|53)|0x(?:59|44|53)4d4c42/i,
  },
  { what: 'a byte of a head by its number', pattern: new RegExp(`\\b${BYTES}(?:\\?\\.)?\\[[4-8]\\]`) },
  {
    what: 'the bit of a coded payload',
    pattern: new RegExp(`\\b${BYTES}(?:\\?\\.)?\\[\\w+\\] & 128|variant [&%<] ?(?:~)?128`),
  },
  { what: 'the length of a head', pattern: /\? 28 : 27\b|\? 27 : 28\b|\b16 \+ (?:7|19|20|37)\b/ },
  { what: 'the length of a checksum', pattern: /^\s*(?:export )?const CHECKSUM\w* = 4;/ },
  { what: 'a payload by its distance from the end', pattern: /\.subarray\([^)]*-4\)/ },
  { what: 'a checksum by hand', pattern: /hashKey\([^)]*\)\.low/ },
];

const problems = [];
let count = 0;
for (const { folder } of readWorkspaces(root)) {
  if (folder === 'packages/testkit') continue;
  for (const path of sources(join(root, folder, 'src'))) check(path);
}
if (problems.length > 0) {
  console.error(problems.join('\n'));
  console.error(
    `${HOME} knows the bytes of frames: bloomery/frames gives heads, payloads, checks and the envelope`,
  );
  process.exit(1);
}
console.log(`frames: ${count} files leave the bytes of frames to ${HOME}`);

function check(path) {
  const name = relative(root, path).replaceAll('\\', '/');
  if (name.startsWith(HOME) || OTHERS.some((room) => name.startsWith(room))) return;
  count++;
  for (const [i, line] of withoutComments(readFileSync(path, 'utf8')).split('\n').entries()) {
    for (const { what, pattern } of RULES) {
      if (pattern.test(line)) problems.push(`${name}:${i + 1} has ${what}: ${line.trim()}`);
    }
  }
}

function sources(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(({ name }) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

/** Comments become empty lines, so that the numbers of lines stay right. */
function withoutComments(text) {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ''))
    .replace(/^\s*\/\/.*$/gm, '');
}
