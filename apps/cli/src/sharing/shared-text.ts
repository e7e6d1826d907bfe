/** Texts of `bloomery redis`. */

import type { SharedFilterStats } from '@bloomery/stores/shared';
import { formatBytes, formatCount } from '../terminal/format-values.ts';

/** One line about a filter. It has no figure that changes while nothing happens. */
export function statusLine(stats: SharedFilterStats): string {
  const { state, epoch, estimatedSize, stages, bytes, entries, lastError } = stats;
  const parts = [
    state,
    `epoch ${epoch}`,
    `${formatCount(estimatedSize)} keys`,
    `${stages} ${stages === 1 ? 'stage' : 'stages'}`,
    formatBytes(bytes),
    `${formatCount(entries)} entries`,
  ];
  const why = state === 'live' || lastError === null ? '' : ` (${lastError.message})`;
  return `${parts.join(', ')}${why}`;
}

/** The file of stage `i` from 0: `users.blm`, `users-2.blm`, `users-3.blm`. */
export function numberedFile(path: string, i: number): string {
  if (i === 0) return path;
  const [, stem, extension] = /^(.*?[^/\\])(\.[^./\\]*)?$/.exec(path) ?? [path, path, ''];
  return `${stem}-${i + 1}${extension ?? ''}`;
}
