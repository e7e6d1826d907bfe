/**
 * `loops`: packets that pass the same place again and again, from captures or a pipe of tcpdump
 * (survey 7.1). packages/packets/src/loops/loop-detector.ts has the rule, and says what it misses.
 *
 * The exit code is that of grep: 0 if a loop was found, 1 if not, 2 after an error. A capture that
 * is cut or damaged is read up to that point; the answer stands, with a warning.
 *
 * `-o` writes packets as they are found, like `tcpdump -w`, so that a long run needs no memory for
 * them. An error leaves the packets before it in the file.
 */

import { randomBytes } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import {
  CaptureDecoder,
  CaptureError,
  CaptureWriter,
  HeaderBatch,
  HeaderDecoder,
  PacketBatch,
} from '@bloomery/packets/capture';
import { LoopDetector } from '@bloomery/packets/loops';
import { SecretKey } from 'bloomery';
import { type Command, InvalidArgumentError } from 'commander';
import { feedCapture } from '../captures/feed-capture.ts';
import {
  parseBytes,
  parseCount,
  parseDuration,
  withExamples,
  withForce,
  withJson,
} from '../command-options.ts';
import { NOT_FOUND } from '../exit-codes.ts';
import { checkTarget } from '../files/target-file.ts';
import { bytesOf, inputsOf } from '../keys/input.ts';
import { foundText, loopData, reportData, reportText } from '../loops/loop-report.ts';
import { holdSignals } from '../terminal/orderly-end.ts';
import { startProgress } from '../terminal/progress.ts';
import { write, writeJson, writeLine } from '../terminal/standard-output.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

interface LoopsOptions {
  readonly output?: string;
  readonly force?: boolean;
  readonly live?: boolean;
  readonly json?: boolean;
  readonly memory?: number;
  readonly window?: number;
  readonly ttls: number;
  readonly prefix?: readonly [ipv4: number, ipv6: number];
}

const LEAST_MEMORY = 32 * 1024;
const MOST_MEMORY = 2 ** 32;

export function register(program: Command): void {
  const command = program
    .command('loops')
    .description('find forwarding loops in captures: packets that come back with a lower TTL')
    .argument(
      '[captures...]',
      'pcap or pcapng files, also packed; none, or -: standard input, as from tcpdump -w -',
    )
    .option(
      '-o, --output <file>',
      'write the packets that came back to this pcapng file; - is standard output',
    )
    .option('--live', 'print a line as soon as a loop is found, and the table at the end')
    .option(
      '--window <time>',
      'forget a packet that was not seen again for this time (default: 10s)',
      parseDuration,
    )
    .option('--memory <bytes>', 'memory for the packets seen lately (default: 32MiB)', parseBytes)
    .option('--ttls <n>', 'how many different TTLs of a packet make a loop, from 2 to 127', parseCount(2), 3)
    .option(
      '--prefix <bits>',
      'gather destinations by prefixes of these lengths in IPv4 and IPv6 (default: 24/48)',
      parsePrefixes,
    )
    .addHelpText('after', HELP)
    .action(run);
  withJson(withForce(command));
  withExamples(command, [
    ['bloomery loops office.pcap', 'which destinations loop, how long the loop is, and since when'],
    ['bloomery loops office.pcap -o loops.pcapng', 'the packets that came back, for Wireshark'],
    ['tcpdump -i eth0 -s 128 -U -w - | bloomery loops --live', 'loops on this link, as they happen'],
    [
      'bloomery loops nightly.pcap > report.txt && mail -s loops admin < report.txt',
      'mail only if there is one',
    ],
  ]);
}

const HELP = `
A packet loops if it is seen at the same interface with at least three different TTLs (IPv6: hop limits), the last at least 2 below
the first. Everything that routers leave alone must be equal, so retransmissions and traceroute are no loops. Where the TTLs of
some packets are too low for three sightings, the others still show the loop. Exit code 0: a loop was found, 1: none, 2: an error.`;

async function run(paths: string[], options: LoopsOptions): Promise<void> {
  checkOptions(options);
  const inputs = inputsOf(paths);
  const { memory = 32 * 2 ** 20, window = 10_000, ttls, prefix = [24, 48], live, json } = options;
  const detector = new LoopDetector({
    memoryBytes: memory,
    windowS: window / 1000,
    levels: ttls,
    ipv4Bits: prefix[0],
    ipv6Bits: prefix[1],
    key: new SecretKey(randomBytes(16)),
  });
  const decoder = new HeaderDecoder();
  const output = openOutput(options);
  const batch = new PacketBatch();
  const headers = new HeaderBatch(batch.capacity);
  const held = holdSignals();
  const bar = startProgress({ what: 'reading', total: bytesOf(inputs), enabled: !json && !live });
  try {
    for (const input of inputs) {
      const { path } = input;
      const capture = new CaptureDecoder();
      const take = (bytes: Uint8Array) => {
        capture.push(bytes);
        while (capture.next(batch)) {
          const before = detector.loopCount;
          decoder.decode(batch, headers);
          const rows = detector.take(batch, headers);
          if (rows.length > 0) output?.add(batch, rows);
          if (live && detector.loopCount > before) announce(detector, before, options);
        }
      };
      try {
        await feedCapture(input, take, bar.advance, held.stop);
        if (held.stop.aborted) break;
        capture.end();
      } catch (error) {
        if (!(error instanceof CaptureError) || error.code === 'not-a-capture') throw named(error, path);
        warn(`${path}: ${error.message}; the answer is about the packets before it`);
      }
    }
  } finally {
    bar.stop();
    output?.close();
  }
  const loops = detector.loops();
  if (json) writeJson(reportData(loops, detector.counts, decoder.counts));
  else print(reportText(loops, detector.counts, decoder.counts), options);
  if (loops.length === 0) process.exitCode = NOT_FOUND;
  held.close();
}

/** Prints the loops that were found since there were `before` of them. */
function announce(detector: LoopDetector, before: number, options: LoopsOptions): void {
  const found = detector.loops().sort((a, b) => a.firstS - b.firstS);
  for (const loop of found.slice(before)) {
    if (options.json) writeJson({ found: loopData(loop) });
    else print(foundText(loop), options);
  }
}

/** Prints text, on standard error if standard output is for the packets. */
function print(text: string, { output }: LoopsOptions): void {
  if (output === '-') process.stderr.write(`${text}\n`);
  else writeLine(text);
}

interface Output {
  add(batch: PacketBatch, rows: readonly number[]): void;
  close(): void;
}

/** The file of `-o`, or undefined. It gets its head at once, so it is valid without packets. */
function openOutput({ output, force = false }: LoopsOptions): Output | undefined {
  if (output === undefined) return undefined;
  checkTarget(output, { force });
  const descriptor = output === '-' ? 1 : openSync(output, 'w');
  const writer = new CaptureWriter();
  write(writer.take(), descriptor);
  return {
    add(batch, rows) {
      for (const row of rows) {
        const start = batch.offset[row];
        writer.add({
          seconds: batch.seconds[row],
          nanoseconds: batch.nanoseconds[row],
          bytes: batch.bytes.subarray(start, start + batch.capturedLength[row]),
          wireLength: batch.wireLength[row],
          linkType: batch.linkType[row],
        });
      }
      write(writer.take(), descriptor);
    },
    close() {
      if (output !== '-') closeSync(descriptor);
    },
  };
}

function checkOptions({ memory, ttls, json, output }: LoopsOptions): void {
  if (memory !== undefined && (memory < LEAST_MEMORY || memory > MOST_MEMORY)) {
    throw new UsageError('--memory must be from 32KiB to 4GiB');
  }
  if (ttls > 127) throw new UsageError(`--ttls must be from 2 to 127, got ${ttls}`);
  if (json && output === '-') throw new UsageError('--json and -o - both want standard output');
}

function parsePrefixes(text: string): [number, number] {
  const [ipv4 = Number.NaN, ipv6 = 48, ...more] = text.split('/').map(Number);
  const isWhole = (bits: number, most: number) => Number.isInteger(bits) && bits >= 0 && bits <= most;
  if (more.length === 0 && isWhole(ipv4, 32) && isWhole(ipv6, 128)) return [ipv4, ipv6];
  throw new InvalidArgumentError('Expected lengths of prefixes such as 24/48 or 16.');
}

/** An error with the file that it is about. */
function named(error: unknown, path: string): unknown {
  if (!(error instanceof CaptureError)) return error;
  return new UsageError(
    `${path === '-' ? 'standard input' : path} is no capture; name a pcap or pcapng file`,
    {
      cause: error,
    },
  );
}
