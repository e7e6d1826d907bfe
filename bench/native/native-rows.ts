/**
 * The rows of the native yardstick. Its filters take the parameters of the library's own, and their
 * bytes are compared with the library's: the same filter, or the comparison of speeds would mean
 * nothing.
 */

import type { RunningRow } from '../shared/interleave.ts';
import type { KeySet, Prepared } from '../shared/lane.ts';
import type { NativeProcess } from '../shared/processes.ts';
import { emptyRounds } from '../shared/results.ts';
import type { NativeTwin } from '../shared/subject.ts';

/**
 * The native filter that is the library's split-block layout with a hash that only native code runs
 * fast.
 */
export const NATIVE_FAST = 'native split-block, fast hash';

const NATIVE_LANES: Readonly<Record<NativeTwin['layout'], string>> = {
  classic: 'native classic',
  block: 'native blocked',
  split: 'native split-block',
};

/** The native lane of a layout of the library. */
export function nativeTwinOf(layout: string): string {
  return `native ${layout}`;
}

export async function nativeRows(
  runner: NativeProcess,
  keys: KeySet,
  prepared: ReadonlyMap<string, Prepared>,
): Promise<{ rows: RunningRow[]; notes: string[] }> {
  const twins = [...prepared].flatMap(([lane, { twin }]) => (twin === null ? [] : [{ lane, twin }]));
  const rows: RunningRow[] = [];
  const notes: string[] = [];
  const add = async (name: string, lane: string, { layout, size, hashes }: NativeTwin) => {
    const built = await runner.build(name, size, hashes);
    if (built.found !== keys.size) throw new Error(`${lane} lost ${keys.size - built.found} keys`);
    const bits = layout === 'classic' ? size : size * (layout === 'block' ? 512 : 256);
    rows.push({
      row: {
        lane,
        form: 'packed',
        rounds: emptyRounds(),
        bitsPerKey: bits / keys.size,
        rate: built.falsePositives / keys.heldOut.count,
        rateKeys: keys.heldOut.count,
        counts: null,
        parameters: `${size} ${layout === 'classic' ? 'bits' : 'blocks'}, ${hashes} hashes`,
        figures: {},
      },
      runner,
      name,
      actions: ['add', 'hit', 'miss'],
    });
    return built.checksum;
  };
  const checksums = new Map<string, string>();
  for (const { lane, twin } of twins) {
    const known = checksums.get(twin.layout);
    const checksum = known ?? (await add(twin.layout, NATIVE_LANES[twin.layout], twin));
    checksums.set(twin.layout, checksum);
    if (checksum !== twin.checksum) {
      notes.push(
        `DIFFERENT BITS: ${lane} ${twin.checksum}, native ${checksum}: the two are not the same filter.`,
      );
    }
    if (twin.layout === 'split' && known === undefined) await add('fast', NATIVE_FAST, twin);
  }
  if (twins.length > 0 && notes.length === 0) {
    notes.push(`Bit for bit the same filter as the native one: ${twins.map(({ lane }) => lane).join('; ')}.`);
  }
  return { rows, notes };
}
