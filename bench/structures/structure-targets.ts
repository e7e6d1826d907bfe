/** The ratios that the other structures set out to reach, and what was measured. */

import {
  actionRounds,
  findRow,
  firstRow,
  type Measure,
  type Results,
  type Row,
  type Section,
  sizeName,
} from '../shared/results.ts';
import { medianRatio } from '../shared/statistics.ts';
import type { FormName } from '../shared/subject.ts';
import { judged, type Target } from '../shared/target.ts';
import { COUNTING_REFERENCE, FREQUENCY_REFERENCE, STATIC_REFERENCE } from './structure-lanes.ts';

export function structureTargets({ sections }: Results): Target[] {
  return sections.flatMap((section) => {
    const against = (
      peer: string,
      lane: string,
      form: FormName,
      measure: Measure,
      wanted: number,
      remark = '',
    ) => faster(section, peer, lane, form, measure, wanted, remark);
    switch (section.suite) {
      case 'counting':
        return [
          ...(['add', 'has', 'delete'] as const).flatMap((measure) =>
            against(COUNTING_REFERENCE, 'bloomery CountingBloomFilter', 'scalar', measure, 50),
          ),
          ...counterSize(section),
        ];
      case 'static':
        return section.size < 1e6
          ? []
          : [
              ...(['has', 'build'] as const).flatMap((measure) => {
                const wanted = measure === 'has' ? 5 : 10;
                return [
                  ...against(
                    STATIC_REFERENCE,
                    'bloomery StaticFilter, integers',
                    'integers',
                    measure,
                    wanted,
                    'bigints for both',
                  ),
                  ...against(
                    STATIC_REFERENCE,
                    'bloomery StaticFilter',
                    'hashes',
                    measure,
                    wanted,
                    measure === 'has' ? '64-bit hashes for both; a batch here' : '64-bit hashes for both',
                  ),
                  ...against(
                    STATIC_REFERENCE,
                    'bloomery StaticFilter',
                    measure === 'has' ? 'scalar' : 'batch',
                    measure,
                    wanted,
                    'strings; the peer gets them hashed',
                  ),
                ];
              }),
            ];
      case 'frequency':
        return ['bloomery CountMinSketch', 'bloomery CountMinSketch, conservative'].flatMap((lane) =>
          against(FREQUENCY_REFERENCE, lane, 'scalar', 'add', 20),
        );
      default:
        return [];
    }
  });
}

function faster(
  section: Section,
  peer: string,
  lane: string,
  form: FormName,
  measure: Measure,
  wanted: number,
  remark: string,
): Target[] {
  const reference = firstRow(section, peer);
  const row = findRow(section, lane, form);
  if (reference === undefined || row === undefined) return [];
  const least = (one: Row) => Math.min(...actionRounds(one, measure));
  return judged({
    what: `${measure} of ${lane.replace(/^bloomery /, '')} against ${peer}${remark === '' ? '' : ` (${remark})`}`,
    keys: keysOf(section),
    measured: medianRatio(actionRounds(reference, measure), actionRounds(row, measure)),
    fastest: least(reference) / least(row),
    sense: 'at least',
    wanted,
    unit: 'times as fast',
  });
}

function counterSize(section: Section): Target[] {
  const row = firstRow(section, 'bloomery CountingBloomFilter');
  if (row === undefined) return [];
  return judged({
    what: 'memory of CountingBloomFilter',
    keys: keysOf(section),
    measured: row.figures.bitsPerCounter,
    fastest: null,
    sense: 'at most',
    wanted: 4.2,
    unit: 'bits a counter',
  });
}

function keysOf({ kind, size }: Section): string {
  return `${sizeName(size)} ${kind}`;
}
