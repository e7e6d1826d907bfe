/**
 * `bloomery plan`: computes the unknown parameters of a filter from the known ones, before anything
 * is built. The planner is `plan()` of bloomery/math. This file holds its options, its table and
 * its plot. Contradictory options give one line and exit code 2.
 *
 * All rates are true rates at capacity, not the textbook's (docs/guide/math.md). A plan takes
 * milliseconds. The plot takes one plan for each number of hash functions.
 */

import { fittedPlot, formatPairs, type Series, terminalPlot } from '@bloomery/papers/drawing';
import {
  type Plan,
  type PlanGoal,
  type PlanLayout,
  type PlanRequest,
  type PlanStructure,
  plan,
} from 'bloomery/math';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseBytes, parseCount, parseRate, withExamples, withJson } from '../command-options.ts';
import { buildLine } from '../planning/build-line.ts';
import { defaultLayout } from '../planning/default-structure.ts';
import { optionNames } from '../planning/option-names.ts';
import { ratesByHashes } from '../planning/rates-by-hashes.ts';
import { formatBytes, formatCount, formatRate } from '../terminal/format-values.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { colors, isTerminal, terminalWidth } from '../terminal/terminal.ts';
import { UsageError } from '../usage-error.ts';

interface PlanOptions {
  readonly capacity?: number;
  readonly rate?: number;
  readonly bits?: number;
  readonly bitsPerKey?: number;
  readonly bytes?: number;
  readonly hashes?: number;
  readonly maxBits?: number;
  readonly maxBytes?: number;
  readonly maxHashes?: number;
  readonly messageBytes?: number;
  readonly messageBits?: number;
  readonly messageBitsPerKey?: number;
  readonly fit?: number;
  readonly changed?: number;
  readonly for?: PlanGoal;
  readonly structure?: PlanStructure;
  readonly layout?: PlanLayout;
  readonly plot?: boolean;
  readonly json?: boolean;
}

export function register(program: Command): void {
  const command = program
    .command('plan')
    .description('say what you know of a filter, get the rest: keys, rate, bits, hashes, size of the message')
    .option('-n, --capacity <count>', 'distinct keys; left out, the most that are possible', parseCount())
    .option('-r, --rate <rate>', 'false positive rate at capacity, such as 1% or 1/1000', parseRate)
    .option('--bits <count>', 'size of the array', parseCount())
    .option('--bits-per-key <number>', 'the same, for each key', parsePositive)
    .option('--bytes <size>', 'the same, in bytes: 64k, 1.5MB, 4MiB', parseBytes)
    .option('-k, --hashes <count>', 'number of hash functions', parseCount())
    .option('--max-bits <count>', 'at most so many bits', parseCount())
    .option('--max-bytes <size>', 'at most so many bytes of memory', parseBytes)
    .option('--max-hashes <count>', 'at most so many hash functions', parseCount())
    .addOption(
      new Option('--for <goal>', 'what is scarce; follows from the other options').choices([
        'memory',
        'transmission',
        'delta',
      ]),
    )
    .option('--message-bytes <size>', 'the compressed message must fit into so many bytes', parseBytes)
    .option('--fit <probability>', 'how surely it must fit, such as 99% (the default)', parseRate)
    .option('--message-bits <count>', 'compressed size of the message on average', parseCount())
    .option('--message-bits-per-key <number>', 'the same, for each key', parsePositive)
    .option('--changed <fraction>', 'share of the keys replaced between two deltas, such as 5%', parseRate)
    .addOption(
      new Option('-s, --structure <name>', 'bloom, or counting: bits are then counters of 4 bits').choices([
        'bloom',
        'counting',
      ]),
    )
    .addOption(
      new Option(
        '-l, --layout <name>',
        'how the bits of a key lie (default: as `build` makes them, blocked; classic below 0.1 % and for messages)',
      ).choices(['classic', 'partitioned', 'blocked', 'split-block']),
    )
    .option('--plot', 'draw the rate against the number of hashes (default on a terminal)')
    .option('--no-plot', 'draw nothing')
    .action(run);
  withExamples(withJson(command), [
    ['bloomery plan --capacity 1M --rate 1%', 'what do a million keys at 1 % take?'],
    ['bloomery plan --bytes 64KiB --rate 0.1%', 'how many keys fit into 64 KiB?'],
    ['bloomery plan --capacity 1000 --bits-per-key 8', 'how good can 8 bits per key be?'],
    [
      'bloomery plan --capacity 10k --message-bytes 10kB --max-bits 1M',
      'the lowest rate that a message of 10 kB can have',
    ],
    [
      'bloomery plan --capacity 10k --rate 2% --for delta --changed 5%',
      'the smallest updates, when 5 % of the keys change between two of them',
    ],
    [
      'bloomery plan --capacity 10k --rate 1% --for transmission --structure counting',
      'the smallest message of a filter that can delete',
    ],
  ]);
}

function run(options: PlanOptions): void {
  const request = requestOf(options);
  const found = planned(request);
  const notes = found.notes.map((note) => optionNames(note));
  const build = buildLine(found, request);
  if (options.json) {
    writeJson({ ...found, notes, build });
    return;
  }
  writeLine(formatPairs([...rowsOf(found, request, options.layout), ['build it', build.join(' ')]]));
  for (const note of notes) writeLine(`note: ${note}`);
  if (options.plot ?? isTerminal(1)) writePlot(found, request);
}

function planned(request: PlanRequest): Plan {
  try {
    return plan(request);
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(optionNames(error.message), { cause: error });
    throw error;
  }
}

function requestOf(options: PlanOptions): PlanRequest {
  const { capacity, bits, bitsPerKey, bytes, maxBits, maxBytes } = options;
  const { messageBits, messageBitsPerKey, messageBytes } = options;
  refuseTwo({ '--bits': bits, '--bits-per-key': bitsPerKey, '--bytes': bytes });
  refuseTwo({ '--max-bits': maxBits, '--max-bytes': maxBytes });
  refuseTwo({ '--message-bits': messageBits, '--message-bits-per-key': messageBitsPerKey });
  if (options.fit !== undefined && messageBytes === undefined) {
    throw new UsageError('--fit says how surely a message fits into --message-bytes; give that as well');
  }
  const forEachKey = (name: string, value: number) => {
    if (capacity === undefined) throw new UsageError(`${name} needs --capacity; without it, use --bits`);
    return value * capacity;
  };
  const unitBits = widthOf(options.structure);
  const request = {
    capacity,
    falsePositiveRate: options.rate,
    bits:
      bytes !== undefined
        ? Math.floor((8 * bytes) / unitBits)
        : bitsPerKey !== undefined
          ? Math.max(1, Math.round(forEachKey('--bits-per-key', bitsPerKey)))
          : bits,
    hashes: options.hashes,
    maxBits: maxBytes === undefined ? maxBits : Math.floor((8 * maxBytes) / unitBits),
    maxHashes: options.maxHashes,
    goal: options.for,
    structure: options.structure,
    layout: options.layout,
    transmissionBits:
      messageBitsPerKey === undefined ? messageBits : forEachKey('--message-bits-per-key', messageBitsPerKey),
    maxMessageBytes: messageBytes,
    fitProbability: options.fit,
    changedFraction: options.changed,
  };
  if (Object.values(request).every((value) => value === undefined)) {
    throw new UsageError(
      'say what you know, such as --capacity 1M --rate 1%; bloomery plan --help shows more',
    );
  }
  return isAboutMessages(options) || options.structure === 'counting'
    ? request
    : { ...request, layout: options.layout ?? defaultLayout(options) };
}

/** Bits of a unit of the array: a bit, or a counter as `build` makes it. */
function widthOf(structure: PlanStructure = 'bloom'): number {
  return structure === 'counting' ? 4 : 1;
}

/**
 * Whether the plan is about messages. A message is a classic filter: blocks would compress no
 * better, and the planner cannot predict their compressed size.
 */
function isAboutMessages(options: PlanOptions): boolean {
  const { messageBits, messageBitsPerKey, messageBytes, changed } = options;
  return (
    (options.for !== undefined && options.for !== 'memory') ||
    [messageBits, messageBitsPerKey, messageBytes, changed].some((value) => value !== undefined)
  );
}

function refuseTwo(options: Record<string, number | undefined>): void {
  const given = Object.keys(options).filter((name) => options[name] !== undefined);
  if (given.length > 1) throw new UsageError(`${given.join(' and ')} say the same; give one of them`);
}

function rowsOf(found: Plan, request: PlanRequest, givenLayout?: PlanLayout): [string, string][] {
  const { capacity, bits, hashes, goal, layout, falsePositiveRate, expectedDeltaBits } = found;
  const dim = colors(1).dim;
  const row = (name: string, value: string, given?: unknown): [string, string] => [
    name,
    given === undefined ? value : `${value} ${dim('(given)')}`,
  ];
  const perKey = (size: number) => `${formatBytes(size / 8)}, ${(size / capacity).toFixed(2)} bits per key`;
  const textbook = formatRate(found.rateAsymptotic);
  const rows = [
    row('for', goal, request.goal),
    ...(found.structure === 'counting' ? [row('structure', 'counting', request.structure)] : []),
    row('layout', layout, givenLayout),
    row('capacity', `${formatCount(capacity)} keys`, request.capacity),
    row('rate', `${formatRate(falsePositiveRate)}${asked(found, request)}`),
    ...(textbook === formatRate(falsePositiveRate) ? [] : [row('', `the textbook formula says ${textbook}`)]),
    row(found.structure === 'counting' ? 'counters' : 'bits', formatCount(bits), request.bits),
    row('memory', perKey(widthOf(found.structure) * bits)),
    row('hashes', formatCount(hashes), request.hashes),
    row('fill at capacity', formatRate(found.expectedFill)),
    row('compressed', `${perKey(found.expectedTransmissionBits)}, on average`),
  ];
  if (expectedDeltaBits !== undefined) rows.push(row('a delta', `${perKey(expectedDeltaBits)}, on average`));
  if (found.transmissionBytesAtConfidence !== undefined) {
    const surely = formatRate(request.fitProbability ?? 0.99);
    const what = goal === 'delta' ? 'largest delta' : 'largest message';
    rows.push(
      row(what, `${formatBytes(found.transmissionBytesAtConfidence)} (with ${surely}; without the header)`),
    );
  }
  // A filter that says "maybe" to every key has no bound worth showing.
  if (Number.isFinite(found.lowerBoundBits) && found.lowerBoundBits > 0) {
    const factor = found.overheadOverLowerBound.toFixed(2);
    const what = goal === 'memory' ? 'the bits' : 'the message';
    rows.push(row('lower bound', `${perKey(found.lowerBoundBits)}; ${what}: ${factor} times that`));
  }
  rows.push(row('limited by', optionNames(found.binding)));
  return rows;
}

/**
 * The requested rate, as a remark next to the planned one. The plan keeps it, and often meets it
 * exactly.
 */
function asked({ falsePositiveRate: rate }: Plan, { falsePositiveRate: wanted }: PlanRequest): string {
  if (wanted === undefined) return '';
  const same = formatRate(wanted) === formatRate(rate);
  return ` ${colors(1).dim(same ? '(given)' : `(at most ${formatRate(wanted)} was asked for)`)}`;
}

function writePlot(found: Plan, request: PlanRequest): void {
  const curves = ratesByHashes(found, request);
  // A layout with a fixed number of hashes has no curve, and a single point shows nothing.
  if (curves.length === 0) return;
  const rate = formatRate(found.falsePositiveRate);
  const series: Series[] = [
    ...curves.map((curve, i) => ({ ...curve, kind: 'line' as const, ...LOOKS[i] })),
    {
      name: `${found.hashes} ${found.hashes === 1 ? 'hash' : 'hashes'}: ${rate}`,
      kind: 'dots',
      colour: 2,
      glyph: '◆',
      points: [[found.hashes, found.falsePositiveRate]],
    },
  ];
  const plot = fittedPlot({
    title: 'The rate by the number of hash functions',
    xLabel: 'hash functions',
    yLabel: 'false positive rate',
    formatY: formatRate,
    series,
  });
  const text = plot && terminalPlot(plot, { colors: colors(1), width: terminalWidth(), height: 14 });
  if (text) writeLine(`\n${text}`);
}

/** Looks of the curves, which differ by glyph as well as by colour. */
const LOOKS = [
  { colour: 0, glyph: '•' },
  { colour: 1, glyph: '×' },
] as const;

function parsePositive(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value < 1e9))
    throw new InvalidArgumentError('Expected a number above 0, such as 8 or 9.6.');
  return value;
}
