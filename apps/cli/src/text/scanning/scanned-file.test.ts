import { openSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Extent, type GramScheme, needleBits } from '@bloomery/stores/text';
import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/run-command.ts';
import { runScanJob } from './scan-job.ts';
import { ScannedFile, type ScannedText } from './scanned-file.ts';

const scratch = temporaryFolder();
const SCHEME: GramScheme = { gram: 5, extra: 8, extraRule: 'run', bitsLog2: 10, limit: 300 };

/** Lines of random lengths: empty ones, and some that are longer than a piece. */
function randomLines(random: Random): Buffer {
  const lines = Array.from({ length: random.below(200) }, () =>
    random
      .bits()
      .toString(36)
      .repeat(random.below(6))
      .padEnd(random.below(30) === 0 ? 900 : 0, 'x'),
  );
  return Buffer.from(lines.join('\n') + (random.below(2) === 0 ? '\n' : ''));
}

async function scanned(path: string, pieceBytes: number, from: { start: number; lines: number }) {
  const descriptor = openSync(path, 'r');
  const identity = { size: statSync(path).size, modified: '', inode: '', head: 0, tail: 0 };
  const file = new ScannedFile({ descriptor, id: 7, kind: 'plain', identity, from }, pieceBytes);
  const blocks: { bits: Uint8Array; extents: Extent[] }[] = [];
  let text: ScannedText | null = null;
  for (const piece of file.pieces) {
    for await (const event of runScanJob({ scheme: SCHEME, pieces: [piece] })) {
      if (event.kind === 'done') text = file.add(event.pieces[0]);
      else
        for (const { bits, extents } of event.blocks)
          blocks.push({ bits, extents: extents.map((extent) => file.placed(extent)) });
    }
  }
  return { blocks, ...text! };
}

test('ScannedFile: pieces of any size cover each line once, with its number and its grams', async () => {
  const random = new Random(3);
  for (let round = 0; round < withEffort(60, 10); round++) {
    const path = join(scratch, `${round}.log`);
    const text = randomLines(random);
    writeFileSync(path, text);
    // A file that has grown goes on where a line begins.
    const start = round % 3 === 0 ? text.indexOf(10) + 1 : 0;
    const from = { start, lines: start > 0 ? 1 : 0 };
    const { blocks, at, last, problem } = await scanned(path, 1 + random.below(2000), from);
    expect([at, problem]).toEqual([text.length, null]);
    let next = start;
    let missed = 0;
    for (const { bits, extents } of blocks) {
      for (const { file, start, length, lines, source } of extents) {
        expect([file, start, source]).toEqual([7, next, next]);
        expect(lines).toBe(text.subarray(0, start).filter((byte) => byte === 10).length);
        next = start + length;
        for (const line of text.toString('latin1', start, next).split('\n'))
          for (const bit of needleBits(Buffer.from(line, 'latin1'), SCHEME))
            missed += ((bits[bit >>> 3] >>> (bit & 7)) & 1) ^ 1;
      }
    }
    expect([next, missed]).toEqual([text.length, 0]);
    // A file that grows goes on with its last extent, or behind it if its block is full.
    const place = blocks.flatMap((block) => block.extents).at(-1)?.start ?? start;
    expect([place, text.length]).toContain(last.start);
    expect(last.lines).toBe(text.subarray(0, last.start).filter((byte) => byte === 10).length);
  }
});
