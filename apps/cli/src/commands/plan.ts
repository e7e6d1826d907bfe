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
import { priceText, rangeText, rateTableText } from '../planning/choice-texts.ts';
import { defaultLayout } from '../planning/default-structure.ts';
import { optionNames } from '../planning/option-names.ts';
import {
  atCapacity,
  priceOf,
  type RangeEnd,
  rateTable,
  withFewestHashes,
  withPowerOfTwo,
} from '../planning/plan-choices.ts';
import { ratesByHashes } from '../planning/rates-by-hashes.ts';
import { formatBytes, formatCount, formatRate } from '../terminal/format-values.ts';
import { withFormerFlag } from '../terminal/former-flag.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { colors, isTerminal, terminalWidth } from '../terminal/terminal.ts';
import { UsageError } from '../usage-error.ts';

interface PlanOptions {
  readonly capacity?: CapacityRange;
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
  readonly fewestHashes?: boolean;
  readonly powerOfTwo?: boolean;
  readonly table?: boolean;
  readonly plot?: boolean;
  readonly json?: boolean;
}

export function register(program: Command): void {
  const command = program
    .command('plan')
    .description('say what you know of a filter, get the rest: keys, rate, bits, hashes, size of the message')
    .option(
      '-N, --capacity <count>',
      'distinct keys; left out, the most that are possible; 8k..12k if they are not known exactly',
      parseCapacity,
    )
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
    .option('--fewest-hashes', 'the fewest hash functions whose rate is within 5 % of the best')
    .option('--power-of-two', 'a power of two bits: the next above for a rate, the next below for a limit')
    .option('--table', 'print the rates by bits per key and hash functions instead (--max-hashes: 8)')
    .option('--plot', 'draw the rate against the number of hashes (default on a terminal)')
    .option('--no-plot', 'draw nothing')
    .action(run);
  withExamples(
    withFormerFlag(withJson(command), { flags: '-n <count>', now: '--capacity', parse: parseCapacity }),
    [
      ['bloomery plan --capacity 1M --rate 1%', 'what do a million keys at 1 % take?'],
      ['bloomery plan --bytes 64KiB --rate 0.1%', 'how many keys fit into 64 KiB?'],
      ['bloomery plan --capacity 1000 --bits-per-key 8', 'how good can 8 bits per key be?'],
      ['bloomery plan --capacity 1M --rate 1% --power-of-two', 'and what does a power of two cost?'],
      ['bloomery plan --table', 'rates by bits per key and hash functions'],
      [
        'bloomery plan --capacity 8k..12k --message-bytes 10kB --max-bits 1M',
        'the rate, and whether it fits, if there are between 8,000 and 12,000 keys',
      ],
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
    ],
  );
}

function run(options: PlanOptions): void {
  if (options.table) {
    writeTable(options);
    return;
  }
  const known = requestOf(options);
  const best = planned(known);
  const request = chosen(known, best, options);
  const found = request === known ? best : planned(request);
  const price = request === known ? undefined : priceOf(found, best);
  const ends = rangeOf(options, found, request);
  const notes = found.notes.map((note) => optionNames(note));
  const build = buildLine(found, request);
  if (options.json) {
    writeJson({ ...found, ...(price && { price }), ...(ends && { range: ends }), notes, build });
    return;
  }
  const priced: [string, string][] = price === undefined ? [] : [['price', priceText(price, best)]];
  const rows = [...rowsOf(found, known, options.layout), ...priced, ['build it', build.join(' ')] as const];
  writeLine(formatPairs(rows));
  if (ends !== undefined) writeLine(`\n${rangeText(ends)}`);
  for (const note of notes) writeLine(`note: ${note}`);
  if (options.plot ?? isTerminal(1)) writePlot(found, request);
}

/** The request with the choices of the options. */
function chosen(known: PlanRequest, best: Plan, { fewestHashes, powerOfTwo }: PlanOptions): PlanRequest {
  if (!fewestHashes && !powerOfTwo) return known;
  if (best.goal !== 'memory' || best.layout === 'split-block') {
    throw new UsageError(
      '--fewest-hashes and --power-of-two are about filters in memory with a choice of hashes',
    );
  }
  if (powerOfTwo && known.bits !== undefined)
    throw new UsageError('--power-of-two chooses the bits; leave out --bits');
  if (fewestHashes && known.hashes !== undefined) {
    throw new UsageError('--fewest-hashes chooses the hashes; leave out --hashes');
  }
  if (powerOfTwo && best.layout === 'partitioned') {
    throw new UsageError('--power-of-two: the partitioned layout has slices of equal size; --layout classic');
  }
  const sized = powerOfTwo ? withPowerOfTwo(known, best) : known;
  const { maxBits = Number.POSITIVE_INFINITY } = known;
  if (powerOfTwo && sized.bits! > maxBits) {
    throw new UsageError(
      `--power-of-two takes ${formatCount(sized.bits!)} bits at this rate, more than ${formatCount(maxBits)}; leave out the rate or the limit`,
    );
  }
  return fewestHashes ? withFewestHashes(sized, planned(sized)) : sized;
}

/** The planned filter at both ends of a range of capacities. */
function rangeOf({ capacity }: PlanOptions, found: Plan, request: PlanRequest): RangeEnd[] | undefined {
  if (capacity === undefined || capacity.from === capacity.to) return undefined;
  return [capacity.from, capacity.to].map((keys) => atCapacity(found, request, keys));
}

/** Prints the rates by bits per key and hash functions, for `--capacity` keys. */
function writeTable({
  capacity,
  layout = 'classic',
  maxHashes = 8,
  bitsPerKey = 24,
  json,
}: PlanOptions): void {
  if (layout === 'split-block') throw new UsageError('--table needs a layout with a choice of hashes');
  const keys = capacity?.to ?? TABLE_KEYS;
  const rows = rateTable({ capacity: keys, layout }, maxHashes, Math.max(2, Math.floor(bitsPerKey)));
  if (json) {
    writeJson({ capacity: keys, layout, rows });
    return;
  }
  writeLine(rateTableText(rows));
}

/** The rates of a table hardly depend on the number of keys. */
const TABLE_KEYS = 100_000;

function planned(request: PlanRequest): Plan {
  try {
    return plan(request);
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(optionNames(error.message), { cause: error });
    throw error;
  }
}

function requestOf(options: PlanOptions): PlanRequest {
  const { bits, bitsPerKey, bytes, maxBits, maxBytes } = options;
  // At the upper end of a range, the rate and the message are worst.
  const capacity = options.capacity?.to;
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

interface CapacityRange {
  readonly from: number;
  readonly to: number;
}

/** Parses a number of keys, or two with dots between them. */
function parseCapacity(text: string): CapacityRange {
  const [low, high = low, ...more] = text.split('..');
  const [from, to] = [low, high].map(parseCount());
  if (more.length > 0 || from > to) {
    throw new InvalidArgumentError('Expected a number of keys, or a range such as 8k..12k.');
  }
  return { from, to };
}

function parsePositive(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value < 1e9))
    throw new InvalidArgumentError('Expected a number above 0, such as 8 or 9.6.');
  return value;
}
