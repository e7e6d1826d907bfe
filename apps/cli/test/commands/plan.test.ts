import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type PlanRequest, plan } from 'bloomery/math';
import { describe, expect, test } from 'vitest';
import { optionNames } from '../../src/planning/option-names.ts';
import { ratesByHashes } from '../../src/planning/rates-by-hashes.ts';
import { bloomery, COMMAND, temporaryFolder } from '../run-command.ts';

function planned(line: string): Record<string, unknown> {
  const { code, stdout, stderr } = bloomery(['plan', ...line.split(' '), '--json']);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  return JSON.parse(stdout);
}

describe('the rest comes out', () => {
  const lines: [line: string, request: PlanRequest][] = [
    ['--capacity 1M --rate 1%', { capacity: 1e6, falsePositiveRate: 0.01, layout: 'blocked' }],
    ['--capacity 1M --rate 1% --layout classic', { capacity: 1e6, falsePositiveRate: 0.01 }],
    ['--capacity 1M --rate 0.09%', { capacity: 1e6, falsePositiveRate: 0.0009 }],
    ['-N 1000 --max-bytes 500', { capacity: 1000, maxBits: 4000, layout: 'blocked' }],
    ['-N 1000 --max-bytes 500 --layout classic', { capacity: 1000, maxBits: 4000 }],
    ['--bytes 64KiB -r 1/1000', { bits: 8 * 65536, falsePositiveRate: 0.001, layout: 'blocked' }],
    ['--bytes 64KiB -r 1/1000 --layout classic', { bits: 8 * 65536, falsePositiveRate: 0.001 }],
    [
      '-N 20k -r 1e-4 --layout blocked --max-hashes 6',
      { capacity: 20_000, falsePositiveRate: 1e-4, layout: 'blocked', maxHashes: 6 },
    ],
    [
      '-N 10k --message-bytes 10kB --fit 99.9% --max-bytes 1MB',
      { capacity: 10_000, maxMessageBytes: 10_000, fitProbability: 0.999, maxBits: 8e6 },
    ],
    [
      '-N 10k -r 2.03% --for delta --changed 5% --max-bits 130k',
      { capacity: 10_000, falsePositiveRate: 0.0203, goal: 'delta', changedFraction: 0.05, maxBits: 130_000 },
    ],
    [
      '-N 10k -r 1% --structure counting --for transmission --max-bytes 100kB',
      {
        capacity: 10_000,
        falsePositiveRate: 0.01,
        structure: 'counting',
        goal: 'transmission',
        maxBits: 200_000, // counters of 4 bits
      },
    ],
  ];
  for (const [line, request] of lines) {
    test(line, () => {
      const { notes, build, ...found } = planned(line);
      expect(build).toContain('build');
      const { notes: own, ...expected } = plan(request);
      expect(found).toEqual(JSON.parse(JSON.stringify(expected)));
      expect(notes).toHaveLength(own.length);
    });
  }

  test('as in the papers: figure 1 of compressed at one hash function', () => {
    const found = planned('--capacity 10k --message-bits-per-key 8');
    expect(found).toMatchObject({ goal: 'transmission', hashes: 1 });
    // The planner takes whole bits for 10,000 keys; the rate is known to five digits.
    expect(found.bitsPerKey).toBeCloseTo(96.91, 1);
    expect(found.falsePositiveRate).toBeCloseTo(0.01027, 5);
  });

  test('a counting filter: counters, their memory, and the line that builds it', () => {
    const line = 'plan -N 10k -r 1% -s counting --for transmission --max-bits 200k';
    const { stdout } = bloomery([...line.split(' '), '--plot']);
    expect(stdout).toMatch(/^structure +counting \(given\)$/m);
    expect(stdout).toMatch(/^counters +189,826$/m);
    expect(stdout).toMatch(/^memory +94\.9 kB, 75\.93 bits per key$/m);
    expect(stdout).toMatch(/^compressed +11\.9 kB, 9\.48 bits per key, on average$/m);
    expect(stdout).toMatch(/bloomery build KEYS -N 10k --bits 189826 -k 2 -s counting -o FILE$/m);
    const refused = bloomery(['plan', '-N', '9', '-r', '1%', '-s', 'counting', '-l', 'blocked']);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringMatching(
        /expected --layout 'classic' or 'partitioned' for --structure 'counting', got 'blocked'/,
      ),
    ]);
  });

  test('as a table that says what was given, without a plot in a pipe', () => {
    const { code, stdout, stderr } = bloomery(['plan', '--capacity', '1M', '--rate', '1%', '-l', 'classic']);
    expect(code).toBe(0);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^capacity +1,000,000 keys \(given\)$/m);
    expect(stdout).toMatch(/^bits +9,59\d,\d\d\d$/m);
    expect(stdout).toMatch(/^memory +1\.20 MB, 9\.59 bits per key$/m);
    expect(stdout).toMatch(/^hashes +7$/m);
    expect(stdout).toMatch(/^lower bound +830 kB, 6\.64 bits per key; the bits: 1\.44 times that$/m);
    expect(stdout).toMatch(/^limited by +--rate$/m);
    expect(stdout).not.toContain('hash functions');
    expect(stdout).not.toContain('\u001b');
  });

  test('with a note in the words of the command line', () => {
    const { stdout } = bloomery(['plan', '-N', '10k', '-r', '1%', '-k', '3', '-l', 'classic']);
    expect(stdout).toMatch(/^note: 7 hashes would need 95,9\d\d bits instead of 123,\d\d\d\.$/m);
  });
});

describe('build makes what plan shows', () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'KEYS'), 'one\ntwo\nthree\n');
  const lines = [
    '-N 350k -r 1%',
    '-N 350k -r 0.1%',
    '-N 350k -r 0.05%',
    '-N 20 -r 1%',
    '-N 1000 -r 1% -k 4',
    '-N 1000 -r 1% -k 30',
    '-N 1000 --bits 10000',
    '-N 1000 --max-bytes 500 --max-hashes 3',
    '--bytes 64KiB -r 1/1000',
    '-N 10k -r 1% --layout partitioned',
    '-N 10k -r 2% --layout split-block',
    '-N 10k --message-bytes 10kB --max-bits 1M',
    '-N 10k -r 2% --for delta --changed 5% --max-bits 130k',
  ];
  test.each(lines)('plan %s', (line) => {
    const { layout, bits, hashes, build } = planned(line);
    const [program, ...args] = build as string[];
    expect(program).toBe('bloomery');
    expect(bloomery([...args, '--force'], { cwd: folder }).code).toBe(0);
    const info = JSON.parse(bloomery(['info', 'FILE', '--json'], { cwd: folder }).stdout);
    expect(info.parameters).toMatchObject({ layout, bits, hashes });
  });
});

describe('what cannot be is one line and exit code 2', () => {
  const lines: [line: string, message: RegExp][] = [
    ['', /say what you know, such as --capacity 1M --rate 1%/],
    ['--capacity 1000', /expected --rate, --bits, --max-bits, .* got --capacity 1000 alone/],
    [
      '-N 1M -r 1% --bits 1000',
      /--capacity 1,000,000, --bits 1000 and --rate 0.01 contradict: 1000 bits give at best 1 /,
    ],
    ['--bits 8 --bytes 3 -N 10', /--bits and --bytes say the same; give one of them/],
    ['--bits-per-key 3 -r 1%', /--bits-per-key needs --capacity/],
    ['-N 10 -r 1% --fit 99%', /--fit says how surely a message fits into --message-bytes/],
    ['-N 10k -r 1%  --for delta', /expected --changed for --for 'delta', got none/],
    ['-N 10 --bytes 12iB', /Expected a size of at least one byte/],
    ['-N 10 --bits-per-key -3', /Expected a number above 0/],
  ];
  for (const [line, message] of lines) {
    test(line === '' ? 'nothing at all' : line, () => {
      const { code, stdout, stderr } = bloomery(['plan', ...line.split(/ +/).filter((word) => word !== '')]);
      expect(code).toBe(2);
      expect(stdout).toBe('');
      expect(stderr).toMatch(message);
      expect(stderr.trim().split('\n').length).toBeLessThanOrEqual(2);
    });
  }

  test('all refusals of the planner speak of options', () => {
    const requests: PlanRequest[] = [
      { falsePositiveRate: 0.01 },
      { capacity: 10, bits: 5, maxBits: 3 },
      { capacity: 10, bits: 5, hashes: 3, maxHashes: 2 },
      { capacity: 10, goal: 'memory', transmissionBits: 100 },
      { capacity: 10, falsePositiveRate: 0.1, goal: 'transmission', layout: 'blocked' },
      { capacity: 10, falsePositiveRate: 0.1, layout: 'blocked', hashes: 30 },
      { capacity: 1e11, falsePositiveRate: 0.01 },
      { capacity: 10_000, maxMessageBytes: 10, falsePositiveRate: 0.01 },
      { capacity: 10_000, transmissionBits: 1000, hashes: 4, bits: 40_000 },
    ];
    for (const request of requests) {
      let message = '';
      try {
        plan(request);
      } catch (error) {
        message = optionNames((error as Error).message);
      }
      expect(message).toMatch(/--/);
      expect(message).not.toMatch(/[a-z][A-Z]|capacity (?=\d)(?<!--capacity )|goal/);
    }
  });
});

describe('the plot', () => {
  test('is drawn in a pipe if asked for, 80 columns wide, the choice at its lowest point', () => {
    const { code, stdout } = bloomery(['plan', '-N', '1M', '-r', '1%', '-l', 'classic', '--plot']);
    expect(code).toBe(0);
    const lines = stdout.split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(stdout).toMatch(/◆ 7 hashes: 1 %/);
    // The last row of the field: nothing lies below the chosen point.
    const axis = lines.findIndex((line) => line.includes('└─'));
    expect(lines[axis - 1]).toContain('◆');
    expect(lines[axis + 1].trim().split(/ +/).map(Number)).toEqual(
      Array.from({ length: 13 }, (_, i) => i + 1),
    );
    // Its column is that of the tick at 7.
    expect(lines[axis - 1].indexOf('◆')).toBe(lines[axis + 1].indexOf('7'));
  });

  test('is drawn on a terminal by itself, and not with --no-plot or --json', () => {
    const onTerminal = (...args: string[]) => {
      const line = ['node', COMMAND, 'plan', '-N', '1000', '-r', '1%', ...args].join(' ');
      return execFileSync('script', ['-qec', line, '/dev/null'], { input: '' }).toString();
    };
    expect(onTerminal()).toContain('hash functions');
    expect(onTerminal('--no-plot')).not.toContain('hash functions');
    expect(onTerminal('--json')).not.toContain('hash functions');
  });

  test('is not drawn where the layout leaves no choice of hash functions', () => {
    const { code, stdout } = bloomery(['plan', '-N', '1000', '-r', '1%', '-l', 'split-block', '--plot']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^layout +split-block/m);
    expect(stdout).not.toContain('◆');
  });

  test('of a message has the standard filter beside it, which is best where the compressed one is worst', () => {
    const request = { capacity: 10_000, transmissionBits: 80_000 };
    const [compressed, standard] = ratesByHashes(plan(request), request);
    const at = (points: typeof standard.points, hashes: number) => points.find(([x]) => x === hashes)![1];
    // docs/papers/papers.md, figure 1 of compressed.
    expect(at(standard.points, 1)).toBeCloseTo(0.1175, 4);
    expect(at(standard.points, 6)).toBeCloseTo(0.02158, 4);
    expect(at(compressed.points, 1)).toBeCloseTo(0.01027, 5);
    expect(at(compressed.points, 2)).toBeCloseTo(0.01695, 5);
    expect(Math.abs(at(compressed.points, 6) - at(standard.points, 6))).toBeLessThan(0.0003);
    for (const [x, y] of compressed.points) expect(y).toBeLessThanOrEqual(at(standard.points, x));
  });

  test('of an array begins where the table is: its point is the lowest of the curve', () => {
    for (const layout of ['classic', 'partitioned', 'blocked'] as const) {
      const request = { capacity: 1000, bits: 10_240, layout };
      const found = plan(request);
      const [curve] = ratesByHashes(found, request);
      expect(Math.min(...curve.points.map(([, y]) => y))).toBe(found.falsePositiveRate);
    }
    expect(ratesByHashes(plan({ capacity: 1000, bits: 10_240, layout: 'split-block' }), {})).toEqual([]);
  });
});

describe('choices', () => {
  const planned = (line: string) => JSON.parse(bloomery(['plan', ...line.split(' '), '--json']).stdout);

  test('--fewest-hashes has the fewest within 5 % of the best rate', () => {
    for (const line of [
      '-N 100k --bits 1M -l classic',
      '-N 100k --bits 1M -l blocked',
      '-N 1M --bits 30M -l classic',
    ]) {
      const best = planned(line);
      const found = planned(`${line} --fewest-hashes`);
      expect(found.hashes, line).toBeLessThanOrEqual(best.hashes);
      expect(found.falsePositiveRate, line).toBeLessThanOrEqual(1.05 * best.falsePositiveRate);
      const fewer = planned(`${line} -k ${found.hashes - 1}`);
      expect(fewer.falsePositiveRate, line).toBeGreaterThan(1.05 * best.falsePositiveRate);
      expect(found.price).toMatchObject({ bits: 1, hashesSaved: best.hashes - found.hashes });
    }
    expect(planned('-N 1M --bits 30M -l classic --fewest-hashes').price.hashesSaved).toBeGreaterThan(1);
    const kept = planned('-N 1M -r 1% -l classic --fewest-hashes');
    expect(kept.falsePositiveRate).toBeLessThanOrEqual(0.01);
    expect(kept.price.bits).toBeGreaterThan(1);
    expect(kept.build).toContain('-k');
  });

  test('--power-of-two rounds up for a rate and down for a limit, and tells its price', () => {
    const up = planned('-N 1M -r 1% -l classic --power-of-two');
    expect(up.bits).toBe(2 ** 24);
    expect(up.falsePositiveRate).toBeLessThan(0.01);
    // The error is that of one division.
    expect(up.price.bits).toBeCloseTo(2 ** 24 / planned('-N 1M -r 1% -l classic').bits, 12);
    const down = planned('-N 1M --max-bits 10M -l classic --power-of-two');
    expect(down.bits).toBe(2 ** 23);
    const { stdout } = bloomery(['plan', '-N', '1M', '-r', '1%', '--power-of-two', '--no-plot']);
    expect(stdout).toMatch(/^price +69\.\d % more bits, 0\.06 times the rate, 4 hashes more; compared with/m);
    const refused = (...more: string[]) =>
      bloomery(['plan', '-N', '1000', '-r', '1%', '--power-of-two', ...more]).stderr;
    expect(refused('--max-bits', '12000')).toMatch(/takes 16,384 bits at this rate, more than 12,000; leave/);
    expect(refused('--layout', 'partitioned')).toMatch(/the partitioned layout has slices of equal size/);
    expect(bloomery(['plan', '-N', '9', '--bits', '9999', '--power-of-two']).stderr).toMatch(
      /leave out --bits/,
    );
  });

  test('a range of capacities is planned for its upper end and shown at both', () => {
    const { range, ...found } = planned('-N 8k..12k --message-bytes 10kB --max-bits 1M');
    expect(found.capacity).toBe(12_000);
    const [low, high] = range;
    expect([low.capacity, high.capacity]).toEqual([8000, 12_000]);
    expect(high.falsePositiveRate).toBe(found.falsePositiveRate);
    expect(high.fitProbability).toBeGreaterThanOrEqual(0.99);
    expect(high.fitProbability).toBeLessThan(0.995);
    const alone = planned(`-N 8k --bits ${found.bits} -k ${found.hashes} -l classic`);
    expect(low.falsePositiveRate).toBe(alone.falsePositiveRate);
    expect(low.messageBits).toBe(alone.expectedTransmissionBits);
    const { stdout } = bloomery([
      'plan',
      '-N',
      '8k..12k',
      '--message-bytes',
      '10kB',
      '--max-bits',
      '1M',
      '--no-plot',
    ]);
    expect(stdout).toMatch(/^ +keys +rate +fill +compressed +fits$/m);
    expect(bloomery(['plan', '-N', '9..8', '-r', '1%']).stderr).toMatch(/or a range such as 8k\.\.12k/);
  });

  test('--table has the rates that plans have', () => {
    const { rows, capacity, layout } = planned('--table --bits-per-key 10 --max-hashes 8');
    expect([rows.length, capacity, layout]).toEqual([9, 100_000, 'classic']);
    const last = rows.at(-1);
    const single = planned('-N 100k --bits-per-key 10 -k 7 -l classic');
    expect([last.bitsPerKey, last.bestHashes, last.rates[6]]).toEqual([10, 7, single.falsePositiveRate]);
    const { stdout } = bloomery(['plan', '--table', '--bits-per-key', '8']);
    expect(stdout.split('\n')).toHaveLength(9);
    expect(stdout).toMatch(/^ +8 +6 +11\.8 % /m);
  });
});
