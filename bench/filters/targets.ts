/** The ratios that the library set out to reach, and what was measured. */

import { NATIVE_FAST, nativeTwinOf } from '../native/native-rows.ts';
import type { KeyKind } from '../shared/keys.ts';
import { findRow, hasRounds, type Results, type Row, type Section, sizeName } from '../shared/results.ts';
import { medianRatio } from '../shared/statistics.ts';
import type { FormName } from '../shared/subject.ts';
import { judged, type Target } from '../shared/target.ts';
import { REFERENCE } from './lanes.ts';

const LAYOUTS = ['classic', 'partitioned', 'blocked', 'split-block'];

export function evaluateTargets({ sections }: Results): Target[] {
  const targets: Target[] = [];
  const add = (target: Omit<Target, 'met'> | null) => targets.push(...judged(target));
  for (const kind of ['url', 'url50'] as const) {
    const million = section(sections, kind, 1e6);
    if (million !== undefined) {
      add(bestLayout(million, 'scalar', REFERENCE, 1.5));
      add(bestLayout(million, 'scalar', 'bloom-filters', 80));
      add(bestLayout(million, 'batch', REFERENCE, 3));
      add(bestLayout(million, 'packed', REFERENCE, 8));
      add(bestLayout(million, 'lines', REFERENCE, 7));
    }
    const tenMillion = section(sections, kind, 1e7);
    if (tenMillion !== undefined) add(bestLayout(tenMillion, 'scalar', REFERENCE, 2.5, ['blocked']));
  }
  for (const one of sections) {
    for (const layout of ['split-block', 'blocked', 'classic']) {
      add(against(one, layout, nativeTwinOf(layout), 'same hash, same bits'));
      if (layout === 'split-block')
        add(against(one, layout, NATIVE_FAST, 'a hash only native code runs fast'));
    }
  }
  return targets;
}

function bestLayout(
  one: Section,
  form: FormName,
  peer: string,
  wanted: number,
  layouts: readonly string[] = LAYOUTS,
): Omit<Target, 'met'> | null {
  const reference = findRow(one, peer, 'scalar');
  let best: { layout: string; ratio: number; fastest: number } | null = null;
  for (const layout of layouts) {
    const row = findRow(one, `bloomery ${layout}`, form);
    if (row === undefined || reference === undefined) continue;
    const ratio = ratioOf(reference, row);
    if (best === null || ratio > best.ratio) best = { layout, ratio, fastest: fastestRatio(reference, row) };
  }
  if (best === null) return null;
  const what = `${form} has (${best.layout}) against ${peer} scalar`;
  return {
    what,
    keys: keysOf(one),
    measured: best.ratio,
    fastest: best.fastest,
    sense: 'at least',
    wanted,
    unit: 'times as fast',
  };
}

function against(one: Section, layout: string, native: string, remark: string): Omit<Target, 'met'> | null {
  const row = findRow(one, `bloomery ${layout}`, 'packed');
  const twin = findRow(one, native, 'packed');
  if (row === undefined || twin === undefined) return null;
  // A filter of ten million keys (12 MB) is beyond the caches that belong to one core.
  const beyond = one.size >= 1e7;
  return {
    what: `packed has (${layout}) against native, ${beyond ? 'beyond cache' : 'in cache'} (${remark})`,
    keys: keysOf(one),
    measured: ratioOf(row, twin),
    fastest: fastestRatio(row, twin),
    sense: 'at most',
    wanted: beyond ? 1.8 : 2.5,
    unit: 'times the time',
  };
}

function ratioOf(above: Row, below: Row): number {
  return medianRatio(hasRounds(above), hasRounds(below));
}

function fastestRatio(above: Row, below: Row): number {
  return Math.min(...hasRounds(above)) / Math.min(...hasRounds(below));
}

function section(sections: readonly Section[], kind: KeyKind, size: number): Section | undefined {
  return sections.find((candidate) => candidate.kind === kind && candidate.size === size);
}

function keysOf({ kind, size }: Section): string {
  return `${sizeName(size)} ${kind}`;
}
