import type { FleetResult } from '@bloomery/cache/simulation';
import { describe, expect, test } from 'vitest';
import { besideSummaryCache } from './beside-summary-cache.ts';
import { madeResult, NO_MESSAGES } from './made-result.ts';
import { growthTable, messageTable } from './page-messages.ts';
import { PLOTS } from './page-plots.ts';
import { resultSections } from './page-tables.ts';
import { type SimulatedRow, SimulatedRows } from './simulated-rows.ts';

interface Made {
  readonly seed?: number;
  /** Fetches from the origin, of 1,000 requests. */
  readonly origin?: number;
  readonly messages?: number;
  readonly bytes?: number;
  readonly skew?: number;
  readonly lost?: number;
  readonly series?: FleetResult['series'];
}

function row(section: string, name: string, made: Made = {}): SimulatedRow {
  const { seed = 1, origin = 500, messages = 0, bytes = 0, skew = 1, lost = 0, series = [] } = made;
  const result = madeResult(origin, {
    lostHits: lost,
    messages: { ...NO_MESSAGES, update: messages },
    messageBytes: { ...NO_MESSAGES, update: bytes },
    skew,
    series,
  });
  return { section, name, seed, result };
}

const page = (...rows: SimulatedRow[]) => resultSections(new SimulatedRows(rows), []).join('\n');

describe('the page about simulated fleets', () => {
  test('has no results without rows', () => {
    expect(resultSections(new SimulatedRows([]), [])).toEqual([]);
    expect(messageTable(new SimulatedRows([]))).toEqual([]);
    expect(growthTable(new SimulatedRows([]))).toEqual([]);
    for (const plot of Object.values(PLOTS)) expect(plot(new SimulatedRows([]))).toBeNull();
  });

  test('says means over the seeds, in the order of the rows', () => {
    const text = page(
      row('fleet', 'single copies', { origin: 120, skew: 1.05 }),
      row('fleet', 'consistent hashing', { origin: 100, skew: 1.5 }),
      row('fleet', 'consistent hashing', { seed: 2, origin: 140, skew: 1.7 }),
      row('fleet', 'alone', { origin: 700 }),
    );
    expect(text).toContain('With single copies it is 12.0 %: 1.00 times the fetches of consistent hashing.');
    expect(text).toContain(
      'serves 1.05 times the average with single copies, and 1.60 times with consistent',
    );
    const at = (name: string) => text.indexOf(`\n| ${name} |`);
    expect(at('alone')).toBeGreaterThan(0);
    expect(at('alone')).toBeLessThan(at('consistent hashing'));
    expect(at('consistent hashing')).toBeLessThan(at('single copies'));
    // Not everything has run.
    expect(text).not.toContain('ICP sends');
  });

  test('says which fetches less from the origin, whichever it is', () => {
    const hashing = row('fleet', 'consistent hashing', { origin: 100 });
    expect(page(hashing, row('fleet', 'single copies', { origin: 101 }))).toContain(
      'Consistent hashing fetches least from the origin: 10.0 %, and the best row of summaries (single copies) 10.1 %',
    );
    expect(page(hashing, row('fleet', 'single copies', { origin: 99 }))).toContain(
      'The best row of summaries (single copies) fetches 9.9 % from the origin, and consistent hashing 10.0 %',
    );
  });

  test('compares messages with ICP at the same number of nodes', () => {
    const lines = messageTable(
      new SimulatedRows([
        row('growth', 'ICP, 64', { messages: 60_000 }),
        row('messages', '64 nodes: default settings, 100/s', { messages: 6000 }),
        row('messages', '16 nodes: ICP', { messages: 17_000 }),
        row('messages', '16 nodes: single copies', { messages: 50 }),
        row('messages', '16 nodes: default settings, 100/s', { messages: 1700 }),
      ]),
    );
    expect(lines).toContain(
      '| single copies, updates at 1 % new objects, no owner | 0.050 | 340.0 | – | – |',
    );
    expect(lines).toContain(
      '| default settings, 100 requests a second per node | 1.700 | 10.0 | 6.000 | 10.0 |',
    );
    expect(lines.filter((line) => line.startsWith('| default'))).toHaveLength(1);
  });

  test('says that a quiet fleet saves few messages', () => {
    const text = page(
      row('fleet', 'alone'),
      row('messages', '16 nodes: ICP', { messages: 18_000 }),
      row('messages', '16 nodes: default settings, 1/s', { messages: 6000 }),
    );
    expect(text).toContain('they save few messages: 3.0 times fewer than ICP');
  });

  test('fits the power of the number of nodes', () => {
    const rows = [4, 16, 64, 256].map((nodes) =>
      row('growth', `ICP, ${nodes}`, { messages: 3000 * nodes ** 0.5, bytes: 1000 * nodes }),
    );
    const text = growthTable(new SimulatedRows(rows)).join('\n');
    expect(text).toContain('| ICP | 3.00 · N^0.50 (at most 0 % off) | 1.00 · N^1.00 (at most 0 % off) |');
  });

  test('puts our figures beside those of Summary Cache, or a dash', () => {
    const text = besideSummaryCache(
      new SimulatedRows([
        row('fleet', 'ICP', { messages: 60_000, bytes: 6_000_000, origin: 300 }),
        row('fleet', 'all kept', { messages: 600, bytes: 60_000, origin: 310 }),
        row('thresholds', 'all kept, 1 %', { origin: 500, lost: 5 }),
      ]),
    ).join('\n');
    expect(text).toContain('everything kept, as there: 100 times fewer (64 nodes) |');
    expect(text).toContain('everything kept: 99.0 % fewer (64 nodes) |');
    expect(text).toContain('everything kept: 69.0 % of requests, ICP 70.0 % (64 nodes)');
    expect(text).toContain('everything kept, 16 nodes: 0.99 % |');
    expect(text).toContain('| 4.7 % of requests | 16 bits per page | – |');
  });

  test('draws the shock with a mark in its middle', () => {
    const series = [1, 2, 3, 4].map((at) => ({
      requests: 100 * at,
      localShare: 0,
      neighbourShare: 0,
      originShare: 0.1 * at,
    }));
    const plot = PLOTS['simulation-shock']!(new SimulatedRows([row('shock', 'single copies', { series })]));
    expect(plot?.marks).toEqual([{ x: 200, label: 'replaced' }]);
    expect(plot?.series[0]?.points).toEqual([100, 200, 300, 400].map((x, i) => [x, 0.1 * (i + 1)]));
  });
});
