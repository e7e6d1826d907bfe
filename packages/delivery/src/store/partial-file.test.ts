import { createHash, randomBytes } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { blockLength, shapeOf } from '../decisions/file-shape.ts';
import { sha256 } from '../wire/hash-list.ts';
import { PartialFile, partName } from './partial-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'partial-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const BODY = randomBytes(400_000);
const SHAPE = shapeOf(BODY.length);
const DIGEST = createHash('sha256').update(BODY).digest('hex');

function bytesOf(block: number): Buffer {
  return BODY.subarray(block * SHAPE.blockBytes, block * SHAPE.blockBytes + blockLength(SHAPE, block));
}

function place(): string {
  return join(mkdtempSync(join(folder, 'place-')), 'file');
}

async function begun(path: string, blocks: readonly number[]): Promise<PartialFile> {
  const file = await PartialFile.open(path, DIGEST);
  file.reshape(SHAPE, () => true);
  for (const block of blocks) file.write(block, bytesOf(block), sha256(bytesOf(block)), block % 2 === 0);
  return file;
}

test('a file that is finished gets its name, and nothing stays beside it', async () => {
  const path = place();
  const file = await begun(path, [0, 1, 2, 3, 4, 5, 6]);
  expect(await file.hashAll()).toBe(DIGEST);
  await file.place();
  expect(Buffer.from(file.read(10, 5))).toEqual(BODY.subarray(10, 15));
  file.close();
  expect(readFileSync(path).equals(BODY)).toBe(true);
  expect([existsSync(partName(path)), existsSync(`${partName(path)}.blocks`)]).toEqual([false, false]);
});

test('blocks are there again after the process ended, with the word of the origin', async () => {
  const path = place();
  (await begun(path, [0, 3, 6])).close();
  const file = await PartialFile.open(path, DIGEST);
  expect([[...file.has], [...file.firstHand]]).toEqual([
    [0, 3, 6],
    [0, 6],
  ]);
  file.close();
});

test('a block that never reached the disk is not there, and neither is one that was dropped', async () => {
  const path = place();
  const first = await begun(path, [0, 1, 2]);
  first.drop(2);
  first.close();
  const bytes = readFileSync(partName(path));
  bytes.fill(0, SHAPE.blockBytes, 2 * SHAPE.blockBytes);
  writeFileSync(partName(path), bytes);
  const file = await PartialFile.open(path, DIGEST);
  expect([...file.has]).toEqual([0]);
  file.close();
});

test('every cut of the journal leaves whole records, and other bytes at its end do no harm', async () => {
  const path = place();
  (await begun(path, [0, 1, 2])).close();
  const journal = `${partName(path)}.blocks`;
  const whole = readFileSync(journal);
  for (let end = whole.length - 1; end >= 0; end -= 13) {
    writeFileSync(journal, whole.subarray(0, end));
    const file = await PartialFile.open(path, DIGEST);
    expect(file.has.size).toBe(Math.max(0, Math.floor((end - 48) / 40)));
    if (file.has.size === 0) return file.close();
    file.close();
    writeFileSync(journal, whole);
  }
  appendFileSync(journal, randomBytes(77));
  const file = await PartialFile.open(path, DIGEST);
  expect(file.has.size).toBe(3);
  file.close();
});

test('a part of another file, or one whose bytes were cut, begins again', async () => {
  const path = place();
  (await begun(path, [0, 1])).close();
  const other = await PartialFile.open(path, 'ab'.repeat(32));
  expect(other.shape).toBeNull();
  other.close();
  const again = place();
  (await begun(again, [0, 1])).close();
  truncateSync(partName(again), 1000);
  const file = await PartialFile.open(again, DIGEST);
  expect(file.shape).toBeNull();
  file.close();
});

test('another shape keeps the blocks that the caller accepts and that lie the same', async () => {
  const file = await begun(place(), [0, 1, 6]);
  file.reshape(shapeOf(BODY.length + 1), (block) => block !== 1);
  expect([...file.has]).toEqual([0]);
  file.close();
});

test('a second process waits for the lock, and gets an error', async () => {
  const path = place();
  const file = await begun(path, [0]);
  await expect(PartialFile.open(path, DIGEST)).rejects.toMatchObject({ code: 'held' });
  file.close();
});
