/**
 * `encode` turns a filter or sketch of any structure into a message: it codes the contents close to
 * their entropy, bits to within a byte or so (docs/spec/wire.md). `decode` is the way back. In a
 * filter planned for memory half of the bits are ones, so it does not shrink. A filter planned for
 * the wire (`bloomery plan --for transmission`) shrinks to a fraction of its size. Every command
 * reads coded files, so `decode` is only for other programs, and for changing a file in place.
 *
 * `--max-bytes` makes the message fit. If it is too large, the filter is halved until it fits
 * (fewer bits, the same keys, a higher rate). If that fails, the message says "maybe" to every key,
 * which is useless but never wrong. The command reports what it did.
 */

import { BloomFilter } from 'bloomery';
import { readFrameHead } from 'bloomery/frames';
import { compressFrame, fitMessage } from 'bloomery/wire';
import type { Command } from 'commander';
import { parseCount, withExamples, withJson, withKeyFile, withOutput } from '../command-options.ts';
import { checkInputs, checkOutput, finishOutput, type MadeFileOptions } from '../conversion/made-file.ts';
import { type FrameFile, readFrame, verifyPlain } from '../conversion/plain-frame.ts';
import { naming } from '../files/frame-error-text.ts';
import { readSecretKey } from '../files/secret-key-file.ts';
import { formatBytes, formatRate } from '../terminal/format-values.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

export function register(program: Command): void {
  const encode = program
    .command('encode')
    .description('make a filter or sketch small for sending: code it close to its entropy')
    .argument('<filter>', 'a filter made by bloomery; - is standard input')
    .option('--fast', 'several times as fast, within 1 % of the smallest')
    .option('--max-bytes <bytes>', 'make it fit: halve the filter until it does', parseCount(LEAST_MESSAGE))
    .action(runEncode);
  withKeyFile(withOutput(withJson(encode), 'where the coded filter goes'));
  withExamples(encode, [
    ['bloomery encode words.blm -o words.blmz', 'the smallest form; all commands read it as it is'],
    ['bloomery encode words.blm --max-bytes 1400 -o - | nc -u peer 9999', 'a filter that fits in a packet'],
  ]);
  const decode = program
    .command('decode')
    .description('bring a coded filter back to its plain form')
    .argument('<filter>', 'a coded filter; - is standard input')
    .action(runDecode);
  withOutput(withJson(decode), 'where the plain filter goes');
  withExamples(decode, [['bloomery decode words.blmz -o words.blm', 'bit for bit what it was made of']]);
}

interface EncodeOptions extends MadeFileOptions {
  readonly fast?: boolean;
  readonly maxBytes?: number;
  readonly keyFile?: string;
}

async function runEncode(path: string, options: EncodeOptions): Promise<void> {
  checkOutput(options);
  checkInputs([path]);
  const file = await readFrame(path);
  const { structure, frame, bytes } = file;
  const effort = options.fast ? 'fast' : 'small';
  const coded = naming(path, () => compressFrame(frame, { effort }));
  const fitted = fit(file, coded, options, effort);
  const { message } = fitted;
  if (fitted.saturated) {
    warn(`${path} fits in ${options.maxBytes} bytes in no way; what was written says "maybe" to every key`);
  } else if (fitted.halvings > 0 && !options.json) {
    warn(`${path} was halved ${times(fitted.halvings)} to fit: ${rateChange(fitted.rates)}`);
  }
  const { halvings, saturated, rates } = fitted;
  finishOutput(
    options,
    message,
    {
      structure: structure.name,
      coded: readFrameHead(message).coded,
      inputBytes: bytes.length,
      plainBytes: frame.length,
      ...(options.maxBytes === undefined ? {} : { maxBytes: options.maxBytes, halvings, saturated }),
      ...(rates === undefined
        ? {}
        : { estimatedFalsePositiveRateBefore: rates.before, estimatedFalsePositiveRate: rates.after }),
    },
    [sizeLine(frame.length, message.length), ...hints(file, message)],
  );
}

async function runDecode(path: string, options: MadeFileOptions): Promise<void> {
  checkOutput(options);
  checkInputs([path]);
  const file = await readFrame(path);
  verifyPlain(file);
  const { structure, bytes, frame, coded } = file;
  finishOutput(options, frame, { structure: structure.name, wasCoded: coded, inputBytes: bytes.length }, [
    coded ? sizeLine(bytes.length, frame.length) : `${path} was plain already; copied`,
  ]);
}

interface Fitted {
  readonly message: Uint8Array;
  readonly halvings: number;
  readonly saturated: boolean;
  readonly rates?: { readonly before: number; readonly after: number };
}

function fit(
  { path, structure, frame }: FrameFile,
  coded: Uint8Array,
  { maxBytes, keyFile }: EncodeOptions,
  effort: 'small' | 'fast',
): Fitted {
  if (maxBytes === undefined || coded.length <= maxBytes)
    return { message: coded, halvings: 0, saturated: false };
  if (structure.name !== 'BloomFilter') {
    const smaller = SMALLER[structure.name] ?? '';
    throw new UsageError(
      `${path} takes ${coded.length} bytes coded, more than ${maxBytes}; a ${structure.name} is not made to fit by itself${smaller}`,
    );
  }
  const key = keyFile === undefined ? {} : { key: readSecretKey(keyFile) };
  const filter = naming(path, () => BloomFilter.decode(frame, key));
  const { message, filter: fitted, halvings, saturated } = fitMessage(filter, { maxBytes, effort });
  const rates = { before: filter.estimatedFalsePositiveRate(), after: fitted.estimatedFalsePositiveRate() };
  return { message, halvings, saturated, rates };
}

function sizeLine(before: number, after: number): string {
  const share = ((100 * after) / before).toPrecision(3);
  return `${formatBytes(before)} -> ${formatBytes(after)} (${share} %)`;
}

function hints({ frame, structure }: FrameFile, message: Uint8Array): string[] {
  if (message.length < 0.98 * frame.length) return [];
  const isBits = structure.name === 'BloomFilter' || structure.name === 'BlockedBloomFilter';
  return [
    isBits
      ? 'half of its bits are ones, so there is little to gain: bloomery plan --for transmission makes one for sending'
      : `its contents are close to random, so there is little to gain`,
  ];
}

/** How a structure is made smaller, by its name. */
const SMALLER: Readonly<Record<string, string>> = {
  BlockedBloomFilter: '; halve it first: bloomery halve',
  CountingBloomFilter: '; take a snapshot: bloomery convert --to bloom',
  SpectralBloomFilter: '; take a snapshot: bloomery convert --to bloom',
  HashList: '; make a filter of it: bloomery convert --to bloom',
  RotatingBloomFilter: '; make one filter of it: bloomery convert --to bloom',
};

function rateChange(rates: Fitted['rates']): string {
  return rates === undefined
    ? ''
    : `the false positive rate rises from ${formatRate(rates.before)} to ${formatRate(rates.after)}`;
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}

/** The header, the parameters, the checksum and one byte: no coded Bloom filter is smaller. */
const LEAST_MESSAGE = 33;
