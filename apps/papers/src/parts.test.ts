import { expect, test } from 'vitest';
import { chooseParts, PARTS } from './parts.ts';
import { collect } from './trials/jobs.ts';

test('PARTS give an experiment as many trials whichever parts are asked for', () => {
  for (const trials of [10, 500, 10_000]) {
    const counts = new Map<string, number>();
    for (const { job, trials: count } of PARTS.flatMap((part) => collect(part.work(trials)))) {
      expect(count).toBe(counts.get(job.id) ?? count);
      counts.set(job.id, count);
    }
  }
});

test('chooseParts shows parts in the order of the papers', () => {
  expect(chooseParts(['perl', 'survey']).map(({ name }) => name)).toEqual(['survey', 'perl']);
});

test('a part names the files of its figures before they are drawn', () => {
  expect(chooseParts(['simulations', 'compressed-figures']).flatMap((part) => part.files)).toEqual([
    'compressed-figure-1.svg',
    'compressed-figure-2.svg',
    'compressed-sizes.svg',
  ]);
});
