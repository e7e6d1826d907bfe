// Only packages/bloomery/src/frames/ may know the bytes of frames. Code elsewhere that indexes
// bytes[5], masks bit 7 of a variant or contains a magic has copied a part of docs/spec/frame.md,
// and would not follow a change there. This program reads the sources and refuses such lines. It
// knows patterns, not types, and looks for the ways in which this was done before.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSource } from './source/parse-source.mjs';
import { isCode, repositoryFiles } from './source/repository-files.mjs';
import { readWorkspaces } from './workspaces.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
/** The folder that may know the bytes of frames. */
const HOME = 'packages/bloomery/src/frames/';
/**
 * Files of other systems, packed files, the text index (docs/spec/text-index.md), digest tables
 * (docs/spec/traceback.md), and the messages of private sharing
 * (docs/spec/private-intersection.md), of deliveries (docs/spec/delivery.md) and of the directory
 * of a search (docs/spec/search.md) have their own offsets; the kernel and the hashes work on
 * words, not frames.
 */
const OTHERS = [
  ...['formats', 'kernel', 'hashing', 'keys', 'math'].map((room) => `packages/bloomery/src/${room}/`),
  'packages/stores/src/text/',
  'packages/packets/src/traceback/store/',
  'packages/overlay/src/private/',
  'packages/overlay/src/directory/',
  'packages/delivery/src/wire/',
  'apps/cli/src/unpacking/',
];
/** Variable names of the bytes of frames, deltas and messages in our code. */
const BYTES = '(?:bytes|frame|head|header|message|delta|golden|inner|outer|part\\(\\d\\)|copy)';

const RULES = [
  { what: 'the magic of a frame, a delta, a sync message or a signature', pattern: /['"`]BLM[YDSG]['"`]/ },
  {
    what: 'the magic of a frame, a delta, a sync message or a signature',
    pattern: /0x42,\s*0x4c,\s*0x4d,\s*0x(?:59|44|53|47)\b/i,
  },
  {
    what: 'the magic of a frame, a delta, a sync message or a signature',
    pattern: /0x424c4d(?:59|44|53|47)|0x(?:59|44|53|47)4d4c42/i,
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

/** @type {string[]} */
const problems = [];
let count = 0;
for (const { folder } of readWorkspaces(root)) {
  if (folder === 'packages/testkit') continue;
  const paths = repositoryFiles(root, `${folder}/src`);
  for (const path of paths.filter((path) => isCode(path) && !path.endsWith('.test.ts'))) check(path);
}
if (problems.length > 0) {
  console.error(problems.join('\n'));
  console.error(
    `${HOME} knows the bytes of frames: bloomery/frames gives heads, payloads, checks and the envelope`,
  );
  process.exit(1);
}
console.log(`frames: ${count} files leave the bytes of frames to ${HOME}`);

/** @param {string} name */
function check(name) {
  if (name.startsWith(HOME) || OTHERS.some((room) => name.startsWith(room))) return;
  count++;
  const source = parseSource(name, readFileSync(join(root, name), 'utf8'));
  for (const [i, line] of withoutComments(source).split('\n').entries()) {
    for (const { what, pattern } of RULES) {
      if (pattern.test(line)) problems.push(`${name}:${i + 1} has ${what}: ${line.trim()}`);
    }
  }
}

/**
 * Text whose comments are blank, so that the numbers of lines stay right.
 * @param {import('./source/parse-source.mjs').Source} source
 */
function withoutComments({ text, comments }) {
  let code = text;
  for (const { start, end } of comments)
    code = code.slice(0, start) + code.slice(start, end).replace(/[^\n]/g, ' ') + code.slice(end);
  return code;
}
