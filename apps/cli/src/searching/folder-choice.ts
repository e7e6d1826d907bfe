/**
 * The folders of `share`, each with the invitation of its group: `DIR`, which takes the one of
 * `--invite`, or `DIR=FILE`.
 */

import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { SearchError } from '@bloomery/overlay/directory';
import { type FolderRules, type Invitation, readInvitation } from '@bloomery/overlay/search/node';
import { IgnoreRules } from '../text/ignore-rules.ts';
import { UsageError } from '../usage-error.ts';

export interface SharedGroup {
  /** The file of the invitation. */
  readonly file: string;
  readonly invitation: Invitation;
  readonly folders: readonly string[];
}

export function chooseFolders(folders: readonly string[], invites: readonly string[]): SharedGroup[] {
  const groups = new Map<string, string[]>(invites.map((file) => [resolve(file), []]));
  for (const each of folders) {
    const { folder, file } = folderAndFile(each, invites);
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
      throw new UsageError(`${folder} is no folder; name a folder to share`);
    const known = groups.get(file) ?? [];
    known.push(resolve(folder));
    groups.set(file, known);
  }
  if (groups.size === 0)
    throw new UsageError('name the group: --invite FILE, which "bloomery share invite" writes');
  return [...groups].map(([file, folders]) => ({ file, invitation: readInvitationFile(file), folders }));
}

function folderAndFile(text: string, invites: readonly string[]): { folder: string; file: string } {
  // A folder may have a sign "=" in its name.
  const isFolder = statSync(text, { throwIfNoEntry: false })?.isDirectory() === true;
  const at = isFolder ? -1 : text.lastIndexOf('=');
  if (at > 0) return { folder: text.slice(0, at), file: resolve(text.slice(at + 1)) };
  if (invites.length !== 1)
    throw new UsageError(`${text} has no group; name one --invite FILE, or write ${text}=FILE`);
  return { folder: text, file: resolve(invites[0]) };
}

export function readInvitationFile(file: string): Invitation {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`${file} cannot be read; --invite names the invitation to a group`, {
      cause: error,
    });
  }
  try {
    return readInvitation(text);
  } catch (error) {
    if (error instanceof SearchError) throw new UsageError(`${file}: ${error.message}`, { cause: error });
    throw error;
  }
}

/** Files that `.gitignore` or, stronger, `.bloomeryignore` names are not shared. */
export function shareRules(root: string): FolderRules {
  return IgnoreRules.of(root, ['.gitignore', '.bloomeryignore']);
}
