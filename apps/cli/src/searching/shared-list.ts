/** The list of files that would be shared, which the user sees before anything is. */

import { realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { folderEntries, type LeftOutReason, MOST_FILE_BYTES } from '@bloomery/overlay/search/node';
import { formatBytes, formatCount } from '../terminal/format-values.ts';
import { shareRules } from './folder-choice.ts';
import { plainText } from './result-text.ts';

export interface SharedList {
  readonly folder: string;
  readonly group: string;
  readonly files: readonly { readonly path: string; readonly type: string; readonly bytes: number }[];
  readonly leftOut: readonly { readonly path: string; readonly why: LeftOutReason }[];
}

export function listShared(folder: string, group: string): SharedList {
  const root = realpathSync(folder);
  const files: SharedList['files'][number][] = [];
  const leftOut: SharedList['leftOut'][number][] = [];
  for (const entry of folderEntries(root, shareRules(root))) {
    if (entry.kind === 'left') leftOut.push({ path: entry.path, why: entry.why });
    if (entry.kind !== 'file') continue;
    const { path, type } = entry;
    const bytes = statSync(join(root, path), { throwIfNoEntry: false })?.size ?? 0;
    if (bytes > MOST_FILE_BYTES) leftOut.push({ path, why: 'large' });
    else files.push({ path, type, bytes });
  }
  return { folder: root, group, files, leftOut };
}

/** The list as text, with all files or the first of them. */
export function sharedListText({ folder, group, files, leftOut }: SharedList, most: number): string {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const lines = [
    `${plainText(folder)} is shared with the group ${group}: ${formatCount(files.length)} files, ${formatBytes(bytes)}${counted(files.map(({ type }) => type || 'no ending'))}`,
  ];
  for (const { path } of files.slice(0, most)) lines.push(`  ${plainText(path)}`);
  if (files.length > most) lines.push(`  … and ${formatCount(files.length - most)} more`);
  if (leftOut.length > 0)
    lines.push(`  left out${counted(leftOut.map(({ why }) => (why === 'large' ? 'above 16 MiB' : why)))}`);
  return lines.join('\n');
}

/** ": 12 md, 3 txt", the most frequent first. */
function counted(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const sorted = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  const shown = sorted.slice(0, 8).map(([name, count]) => `${formatCount(count)} ${plainText(name)}`);
  return shown.length === 0 ? '' : `: ${shown.join(', ')}${sorted.length > 8 ? ', …' : ''}`;
}
