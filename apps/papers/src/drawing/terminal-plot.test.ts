import pc from 'picocolors';
import { expect, test } from 'vitest';
import type { Plot } from './plot.ts';
import { terminalPlot } from './terminal-plot.ts';

test('terminalPlot draws lines as letters and points as capitals without colours', () => {
  expect(terminalPlot(DIAGONAL, { width: 27, height: 5, colors: PLAIN }).split('\n')).toEqual([
    'a diagonal',
    'up',
    '2 ┤           ┊ half  aaaaa',
    '  │           ┊  aaaaaa',
    '1 ┤         aaaaaa',
    '  │    aaaaaa ┊B',
    '0 ┤aaaaa      ┊',
    '  └┬──────────────────────┬',
    '   0                      9',
    '            across',
    '   a  line',
    '   B  point',
  ]);
});

test('terminalPlot draws points over all lines, whichever comes first', () => {
  const [line, point] = DIAGONAL.series;
  const onLine = { ...point, points: [[4.5, 1]] as const };
  for (const series of [
    [line, onLine],
    [onLine, line],
  ]) {
    const text = terminalPlot({ ...DIAGONAL, marks: [], series }, { width: 27, height: 5, colors: PLAIN });
    expect(text.split('\n')[4]).toMatch(/^1 ┤ +(a+[AB]a+|b+[AB]b+)$/);
  }
});

test('terminalPlot shows a glyph at each point of a line, and the line in Braille without colours', () => {
  const series = [{ ...DIAGONAL.series[0], glyph: '*' }];
  const text = terminalPlot({ ...DIAGONAL, marks: [], series }, { width: 27, height: 5, colors: PLAIN });
  expect(text.split('\n').slice(2, 7)).toEqual([
    '2 ┤                   ⢀⡠⠤⠒*',
    '  │              ⢀⡠⠤⠒⠉⠁',
    '1 ┤         ⢀⣀⠤⠒⠉⠁',
    '  │    ⢀⣀⠤⠒⠊⠁',
    '0 ┤*⠤⠒⠊⠁',
  ]);
  expect(text).toMatch(/^ {3}⠒\* line$/m);
});

test('terminalPlot paints a series and its entry in the legend in one colour', () => {
  const text = terminalPlot(DIAGONAL, { width: 27, height: 5, colors: pc.createColors(true) });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what colour codes are made of
  expect(text.match(/\u001b\[33m ?●/g)).toHaveLength(2);
  expect(text).toContain('\u001b[36m⠒⠒');
});

test('terminalPlot draws nothing where there is no room, and leaves out points that are no numbers', () => {
  expect(terminalPlot(DIAGONAL, { width: 22, height: 5, colors: PLAIN })).toBe('');
  expect(terminalPlot(DIAGONAL, { width: 23, height: 5, colors: PLAIN })).toContain('across');
  const points = [...DIAGONAL.series[1].points, [Number.NaN, 1], [3, Number.POSITIVE_INFINITY]] as const;
  const series = [DIAGONAL.series[0], { ...DIAGONAL.series[1], points }];
  const options = { width: 27, height: 5, colors: PLAIN };
  expect(terminalPlot({ ...DIAGONAL, series }, options)).toBe(terminalPlot(DIAGONAL, options));
});

const PLAIN = pc.createColors(false);

const DIAGONAL: Plot = {
  title: 'a diagonal',
  x: { label: 'across', scale: 'linear', from: 0, to: 9, ticks: [0, 9] },
  y: { label: 'up', scale: 'linear', from: 0, to: 2, ticks: [0, 1, 2] },
  marks: [{ x: 4.2, label: 'half' }],
  series: [
    {
      name: 'line',
      kind: 'line',
      colour: 0,
      points: [
        [0, 0],
        [9, 2],
      ],
    },
    { name: 'point', kind: 'dots', colour: 1, points: [[4.5, 0.5]] },
  ],
};
