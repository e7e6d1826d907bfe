/**
 * `delta` and `apply`: write the changes between two snapshots of a filter or sketch of any
 * structure, and apply them (Mitzenmacher, compressed IV). A peer that holds yesterday's filter
 * needs only today's delta. With 5 % of the keys changed, it is a few per cent of the file.
 *
 * A delta carries the checksums of the old and the new snapshot. `apply` refuses any other
 * snapshot, with both checksums in the message, because the result would have lost keys. Both files
 * must have the same parameters, and each may be plain or coded. `apply` writes a plain file, bit
 * for bit the new one. Keyed filters need no secret key here.
 */

import { DELTA_MAGIC, FRAME_MAGIC, hasMagic, payloadOf } from 'bloomery/frames';
import { applyDelta, deltaEnds, frameSum, makeDelta, OtherSnapshotError } from 'bloomery/wire';
import type { Command } from 'commander';
import { withExamples, withJson, withOutput } from '../command-options.ts';
import { checkInputs, checkOutput, finishOutput, type MadeFileOptions } from '../conversion/made-file.ts';
import { describeFrame, type FrameFile, readFrame, verifyPlain } from '../conversion/plain-frame.ts';
import { readFilterBytes } from '../files/filter-file.ts';
import { naming } from '../files/frame-error-text.ts';
import { formatBytes, formatCount } from '../terminal/format-values.ts';
import { UsageError } from '../usage-error.ts';

export function register(program: Command): void {
  const delta = program
    .command('delta')
    .description('write what changed from one snapshot of a filter to the next')
    .argument('<old>', 'the filter as the other side has it')
    .argument('<new>', 'the filter as it is now, with the same parameters')
    .option('--fast', 'code it several times as fast, within 1 % of the smallest')
    .action(runDelta);
  withOutput(withJson(delta), 'where the delta goes');
  withExamples(delta, [
    ['bloomery delta monday.blm tuesday.blm -o tuesday.delta', 'what to send on Tuesday'],
  ]);
  const apply = program
    .command('apply')
    .description('bring a snapshot of a filter up to date with a delta')
    .argument('<old>', 'the very snapshot that the delta starts from')
    .argument('<delta>', 'what bloomery delta wrote')
    .action(runApply);
  withOutput(withJson(apply), 'where the new filter goes');
  withExamples(apply, [
    ['bloomery apply monday.blm tuesday.delta -o tuesday.blm', 'the file as it is on the other side'],
    [
      'curl -s https://peer/delta | bloomery apply peer.blm - --force -o peer.blm',
      'update a file from the network',
    ],
  ]);
}

async function runDelta(
  oldPath: string,
  newPath: string,
  options: MadeFileOptions & { readonly fast?: boolean },
): Promise<void> {
  checkOutput(options);
  checkInputs([oldPath, newPath]);
  const from = await readFrame(oldPath);
  const to = await readFrame(newPath);
  // Damage must be reported as damage, not as different parameters.
  for (const file of [from, to]) verifyPlain(file);
  const bytes = deltaBetween(from, to, options.fast ? 'fast' : 'small');
  const changed = changedBits(from, to.frame);
  const bits = 8 * payloadOf(from.frame).length;
  const { base, result } = deltaEnds(bytes);
  finishOutput(
    options,
    bytes,
    {
      structure: from.structure.name,
      changedBits: changed,
      plainBytes: to.frame.length,
      base: hex(base),
      result: hex(result),
    },
    [
      ...(changed === undefined
        ? []
        : [`${formatCount(changed)} bits changed (${((100 * changed) / bits).toPrecision(3)} %)`]),
      `${formatBytes(bytes.length)} instead of ${formatBytes(to.bytes.length)}`,
    ],
  );
}

async function runApply(oldPath: string, deltaPath: string, options: MadeFileOptions): Promise<void> {
  checkOutput(options);
  checkInputs([oldPath, deltaPath]);
  const from = await readFrame(oldPath);
  const delta = await readDelta(deltaPath);
  const { base, result } = naming(deltaPath, () => deltaEnds(delta));
  const own = frameSum(from.frame);
  if (own !== base) refuse(from, deltaPath, own, base, result);
  const frame = naming(deltaPath, () =>
    applyDelta(from.frame, delta, { maxBytes: Number.POSITIVE_INFINITY }),
  );
  const changed = changedBits(from, frame);
  finishOutput(
    options,
    frame,
    {
      structure: from.structure.name,
      changedBits: changed,
      deltaBytes: delta.length,
      base: hex(base),
      result: hex(result),
    },
    changed === undefined ? [] : [`${formatCount(changed)} bits changed`],
  );
}

/** Throws an error that says why this snapshot is not the one that the delta starts from. */
function refuse(from: FrameFile, deltaPath: string, own: bigint, base: bigint, result: bigint): never {
  verifyPlain(from);
  if (own === result) {
    throw new UsageError(
      `${deltaPath} has been applied to ${from.path} already (both end at snapshot ${hex(own)}); nothing to do`,
    );
  }
  throw new UsageError(
    `${deltaPath} starts from snapshot ${hex(base)}, ${from.path} is ${hex(own)}; apply it to the file it was made from, or fetch the whole filter`,
    { cause: new OtherSnapshotError(`Cannot apply the delta: expected ${hex(base)}, got ${hex(own)}`) },
  );
}

async function readDelta(path: string): Promise<Uint8Array> {
  const bytes = await readFilterBytes(path);
  if (hasMagic(DELTA_MAGIC, bytes)) return bytes;
  if (hasMagic(FRAME_MAGIC, bytes)) {
    throw new UsageError(`${path} is a filter, not a delta; the order is: bloomery apply OLD DELTA -o NEW`);
  }
  throw new UsageError(`${path} is ${bytes.length === 0 ? 'empty' : 'not a delta made by bloomery delta'}`);
}

/** Makes the delta. Files that no delta connects are refused with the parameters of both. */
function deltaBetween(from: FrameFile, to: FrameFile, effort: 'small' | 'fast'): Uint8Array {
  try {
    return makeDelta(from.frame, to.frame, { effort });
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new UsageError(
      `a delta needs the same parameters on both sides: ${from.path} is a ${describeFrame(from)}, ${to.path} a ${describeFrame(to)}`,
      { cause },
    );
  }
}

/**
 * The number of bits that differ, or undefined for structures whose payload is not one bit array.
 */
function changedBits({ structure, frame }: FrameFile, other: Uint8Array): number | undefined {
  if (structure.name !== 'BloomFilter' && structure.name !== 'BlockedBloomFilter') return undefined;
  const [before, after] = [payloadOf(frame), payloadOf(other)];
  let count = 0;
  for (let i = 0; i < before.length; i++) count += ONES[before[i] ^ after[i]];
  return count;
}

function hex(sum: bigint): string {
  return sum.toString(16).padStart(16, '0');
}

const ONES = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length);
