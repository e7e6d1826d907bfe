/**
 * Answers requests for the console's page (docs/spec/console.md, "The page"). The policy allows
 * script and style of the page's own files alone: no inline script, no eval, no WebAssembly, no
 * frame around it.
 */

import type { IncomingMessage } from 'node:http';
import type { Reply } from '../admin/admin-reply.ts';
import type { PageFile } from './page-files.ts';

const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self' blob:",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types bloomery-console',
].join('; ');

const PAGE_FIELDS: readonly string[] = [
  ['Content-Security-Policy', PAGE_POLICY],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['Referrer-Policy', 'no-referrer'],
  ['Permissions-Policy', 'camera=(), geolocation=(), microphone=()'],
  ['Vary', 'Accept-Encoding'],
].flat();

/** `name` is the path below the page's folder; empty for the page itself. */
export function pageReply(
  files: ReadonlyMap<string, PageFile> | null,
  name: string,
  { headers }: Pick<IncomingMessage, 'headers'>,
): Reply {
  if (files === null)
    return {
      status: 404,
      body: 'The page of the console is not part of this build (in the repository: npm run build). Its endpoints answer.\n',
    };
  const file = files.get(name === '' ? 'index.html' : name);
  if (file === undefined) return { status: 404, body: 'The console has no such file.\n' };
  const gzipped = acceptsGzip(headers['accept-encoding']) ? file.gzipped : null;
  const tag = `"${file.tag}${gzipped === null ? '' : '-gz'}"`;
  const fields = [...PAGE_FIELDS, 'ETag', tag];
  const cacheControl = 'no-cache';
  if (hasTag(headers['if-none-match'], tag))
    return { status: 304, type: file.type, fields, cacheControl, body: '' };
  if (gzipped !== null) fields.push('Content-Encoding', 'gzip');
  return { status: 200, type: file.type, fields, cacheControl, body: gzipped ?? file.bytes };
}

/** RFC 9110, 12.5.3. Only an encoding that is named, and not with the weight 0. */
function acceptsGzip(field: string | string[] | undefined): boolean {
  return String(field ?? '')
    .split(',')
    .some((part) => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$)[\d.]+\s*)?$/i.test(part));
}

/** RFC 9110, 13.1.2: the weak comparison, in which W/ does not count. */
function hasTag(field: string | undefined, tag: string): boolean {
  if (field === undefined) return false;
  return field.trim() === '*' || field.split(',').some((part) => part.trim().replace(/^W\//, '') === tag);
}
