/**
 * The settings for fleets in groups: the group of this node, and how long a leader may be unseen
 * before another node takes over. The other pauses of groups are in proportion to that time.
 *
 * The name is given by the operator, as a rack or a zone has one. We refused to derive it from the
 * number of nodes: a group keeps its name when nodes come and go.
 */

import { isGroupName } from '@bloomery/transport';
import { formatDuration } from '../amounts.ts';
import type { WrittenSettings } from '../config-sources.ts';
import { durationOf, type SettingReader } from '../setting-reader.ts';

export interface GroupConfig {
  readonly name: string;
  /** Time for which the leader of the group may be unseen. */
  readonly patienceMs: number;
  /** Whether a directory of the fleet says which node holds an object. */
  readonly isFinding: boolean;
}

const PATIENCE_MS = 30_000;

/** Reads the group. Null without one. */
export function readGroup(
  reader: SettingReader,
  written: WrittenSettings,
  { hasNats, problems, warnings }: { hasNats: boolean; problems: string[]; warnings: string[] },
): GroupConfig | null {
  const name = reader.one('group', parseGroup);
  const patienceMs = reader.number('groupPatience', durationOf, 1000, 600_000) ?? PATIENCE_MS;
  const isFinding = reader.switch('groupFind') ?? false;
  if (name === undefined) {
    if (written.has('groupPatience') && !written.has('group'))
      warnings.push('groupPatience has no effect without --group');
    if (isFinding && !written.has('group')) warnings.push('groupFind has no effect without --group');
    return null;
  }
  if (!hasNats) {
    if (!written.has('nats')) problems.push('--group needs --nats: groups of nodes find each other there');
    return null;
  }
  return { name, patienceMs, isFinding };
}

/** The settings as they stand in a configuration file. */
export function printGroup(group: GroupConfig | null): Record<string, unknown> {
  if (group === null) return {};
  return {
    group: group.name,
    groupPatience: formatDuration(group.patienceMs),
    groupFind: group.isFinding,
  };
}

function parseGroup(text: string): string {
  if (isGroupName(text)) return text;
  throw new TypeError(
    `expected the name of a group: up to 32 of a-z, 0-9 and -, got ${JSON.stringify(text.slice(0, 100))}`,
  );
}
