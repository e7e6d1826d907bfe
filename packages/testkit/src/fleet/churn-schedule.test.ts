import { expect, test } from 'vitest';
import { churnSchedule, traceUnderChurn } from './churn-schedule.ts';

const OPTIONS = { nodes: 6, durationMs: 60_000, everyMs: 1000, mostDown: 3, readyMs: 2000, seed: 5 };

test('churnSchedule ends and starts nodes in turn, half of the ends by kills', () => {
  const changes = churnSchedule(OPTIONS);
  expect(changes).toEqual(churnSchedule(OPTIONS));
  expect(changes).not.toEqual(churnSchedule({ ...OPTIONS, seed: 6 }));
  const down = new Map<number, number>();
  let lastMs = 0;
  for (const { timeMs, node, kind } of changes) {
    expect(timeMs).toBeGreaterThanOrEqual(lastMs);
    lastMs = timeMs;
    expect(down.has(node)).toBe(kind === 'join');
    if (kind === 'join') down.delete(node);
    else down.set(node, timeMs);
    expect(down.size).toBeLessThanOrEqual(OPTIONS.mostDown);
  }
  expect(lastMs).toBeLessThan(OPTIONS.durationMs - OPTIONS.readyMs);
  const count = (wanted: string) => changes.filter(({ kind }) => kind === wanted).length;
  expect(count('leave') - count('kill')).toBeOneOf([0, 1]);
  expect(count('kill')).toBeGreaterThan(5);
});

test('traceUnderChurn sends requests only to nodes that are up and ready', () => {
  const changes = churnSchedule(OPTIONS);
  const trace = Array.from({ length: 6000 }, (_, at) => ({
    timeMs: 10 * at,
    node: at % OPTIONS.nodes,
    object: at,
    bytes: 1,
  }));
  const moved = traceUnderChurn(trace, changes, OPTIONS);
  expect(moved.map(({ object }) => object)).toEqual(trace.map(({ object }) => object));
  for (const { timeMs, node } of moved) {
    const last = changes.filter((change) => change.node === node && change.timeMs <= timeMs).at(-1);
    if (last === undefined) continue;
    expect(last.kind).toBe('join');
    expect(timeMs - last.timeMs).toBeGreaterThanOrEqual(OPTIONS.readyMs);
  }
  const isLeaving = ({ timeMs, node }: (typeof trace)[number]) =>
    changes.some(
      (change) =>
        change.node === node &&
        change.kind === 'leave' &&
        change.timeMs > timeMs &&
        change.timeMs - timeMs < 500,
    );
  expect(trace.some(isLeaving)).toBe(true);
  expect(moved.some(isLeaving)).toBe(false);
});
