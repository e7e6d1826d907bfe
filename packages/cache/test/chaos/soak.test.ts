/**
 * The soak of `bench/cache/soak.ts` in its short form: whether it runs, and finds nothing. The hour
 * is run by hand.
 */

import { EFFORT } from '@bloomery/testkit/effort';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { soak } from '../../../../bench/cache/soak.ts';
import { fitLine } from '../../../../bench/cache/soak-line.ts';
import { renderSoak } from '../../../../bench/cache/soak-report.ts';
import { bundleNode, type NodeProgram } from './chaos-node.ts';

let program: NodeProgram;
beforeAll(() => {
  program = bundleNode();
});
afterAll(() => program.remove());

it('a short soak: every byte right, nothing left over', async () => {
  const result = await soak({
    minutes: (12 * EFFORT) / 60,
    objects: 400,
    memory: 4_000_000,
    disk: 20_000_000,
    requests: 150,
    program: (settings) => [program.path, JSON.stringify(settings)],
  });
  const report = renderSoak(result);
  expect(result.problems, report).toEqual([]);
  expect(result.requests, report).toBeGreaterThan(200);
  expect(result.hits, report).toBeGreaterThan(50);
  expect(result.evictions.memory, report).toBeGreaterThan(0);
  expect(report).toMatch(/^# Soak: /);
});

describe('the line through the samples', () => {
  const samples = (value: (i: number) => number) =>
    Array.from({ length: 100 }, (_, i) => ({ at: i * 15_000, value: value(i) }));
  const noise = (i: number) => 1e6 * Math.sin(i * i);

  it('sees a leak', () => expect(fitLine(samples((i) => 1e8 + 1e5 * i + noise(i))).verdict).toBe('grows'));
  it('sees none in noise', () =>
    expect(fitLine(samples((i) => 1e8 + noise(i))).verdict).toBe('does not grow'));
  it('sees none in slow waves', () =>
    expect(fitLine(samples((i) => 1e8 + 5e6 * Math.sin(i / 8))).verdict).toBe('does not grow'));
  it('sees none in what shrinks', () =>
    expect(fitLine(samples((i) => 1e8 - 1e5 * i)).verdict).toBe('does not grow'));
  it('says when it cannot know', () =>
    expect(fitLine(samples((i) => i).slice(0, 10)).verdict).toBe('too short to tell'));
});
