/**
 * The operator's token for changes: as a setting, or as the content of a file, which no list of
 * processes shows. No message contains the token.
 */

import { readFileSync } from 'node:fs';
import { isToken, TOKEN_SHAPE } from '../admin/admin-token.ts';
import type { NodeConfig } from './node-config.ts';
import { refuse, type SettingReader } from './setting-reader.ts';

type TokenConfig = NodeConfig['adminToken'];

export function readToken(reader: SettingReader, problems: string[]): TokenConfig {
  const written = reader.one('adminToken', (text) => checked(text));
  const file = reader.path('adminTokenFile');
  if (file === null) return written === undefined ? null : { text: written, file: null };
  if (written !== undefined) {
    problems.push('--admin-token and --admin-token-file: expected one of them, got both');
    return null;
  }
  try {
    return { text: checked(readFileSync(file, 'utf8').trim()), file };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    problems.push(`--admin-token-file: cannot use ${file}: ${code ?? message}`);
    return null;
  }
}

export function printToken(token: TokenConfig): Record<string, string> {
  if (token === null) return {};
  return token.file === null ? { adminToken: token.text } : { adminTokenFile: token.file };
}

function checked(text: string): string {
  return isToken(text) ? text : refuse(TOKEN_SHAPE, `${text.length} characters, or others`);
}
