/**
 * Checks the list of files that a server sent. Its checksum tells damage from a transfer, not a
 * server that lies: paths must stay below the folder, and numbers must be such.
 */

import { type IndexManifest, ManifestError } from '../index-manifest.ts';

export function checkedManifest(manifest: IndexManifest, where: string): IndexManifest {
  const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
  const isFine =
    Array.isArray(manifest.indexes) &&
    Array.isArray(manifest.files) &&
    manifest.indexes.every(
      ({ name, id, size }) => /^[\w-]+\.text$/.test(name) && typeof id === 'string' && isCount(size),
    ) &&
    manifest.files.every(
      ({ path, id, kind, size, head, tail, modified, last, parts }) =>
        isBelow(path) &&
        [id, size, head, tail, last?.start, last?.lines].every(isCount) &&
        ['plain', 'gzip', 'zstd'].includes(kind) &&
        typeof modified === 'string' &&
        Array.isArray(parts) &&
        parts.every(({ index, from, to }) => typeof index === 'string' && isCount(from) && isCount(to)),
    ) &&
    (manifest.unindexed ?? []).every(isBelow);
  if (!isFine)
    throw new ManifestError(`Cannot read ${where}: expected a list of files, got one with other fields`);
  return manifest;
}

/** Whether a path leads to a place below its folder, without characters that control a terminal. */
function isBelow(path: unknown): boolean {
  return (
    typeof path === 'string' &&
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to refuse
    !/[\u0000-\u001f\u007f]/.test(path) &&
    path.split('/').every((name) => name !== '' && name !== '.' && name !== '..')
  );
}
