import pc from 'picocolors';
import { expect, test } from 'vitest';
import type { Plot } from './plot.ts';
import { terminalPlot } from './terminal-plot.ts';

test('terminalPlot draws lines as letters and points as capitals without colours', () => {
  expect(
    terminalPlot(DIAGONAL, { width: 27, height: 5, colors: pc.createColors(false) }).split('\n'),
  ).toEqual([
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
