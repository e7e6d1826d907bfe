/**
 * The answer of one neighbour to another's question for an object (object-request.ts): its fields,
 * how they are written and read, and the context that ties head and body to the question.
 *
 * ```
 * HTTP/1.1 200 OK                          or 206 for the rest of a body
 * …                                        the fields of the stored response, Age, Via, Cache-Status
 * Bloomery-Object: 1                       the body consists of pieces (object-pieces.ts)
 * Bloomery-Length: 1000                    bytes of the body, if that is known
 * Bloomery-Summary: 7.42                   epoch and sequence of the holder's summary
 * Bloomery-Keep: 1                         the asker may store it as its own (hot-objects.ts)
 * Trailer: Bloomery-Digest
 *
 * HTTP/1.1 504 Gateway Timeout             every refusal, whatever the reason
 * Bloomery-Summary: 7.42
 * Bloomery-Try: node-3                     only if the object is coming, and two nodes read it
 * ```
 *
 * The length is not in Content-Length because a body with a trailer is chunked (RFC 9112, 6.2).
 *
 * All refusals have the same bytes, so a node that may not know what is stored here learns nothing
 * from them. A refusal carries no check code: an attacker on the network who forges one saves the
 * asker a body, and costs it a fetch from the origin.
 */

import { createHash } from 'node:crypto';
import { fieldValue, withoutFields } from '../../policy/fields.ts';
import { endToEndFields } from '../../policy/forwarding.ts';
import type { ResponseHead } from '../../policy/message-head.ts';
import type { FieldList } from '../../policy/stored-response.ts';
import { fieldsThatCount } from './object-request.ts';

/** Version of a holder's summary. */
export interface SummaryVersion {
  readonly epoch: number;
  readonly sequence: number;
}

export type ObjectAnswer =
  | {
      readonly kind: 'object';
      /** The head for this node: with Content-Length, without the fields of this protocol. */
      readonly head: ResponseHead;
      readonly length: number | null;
      /** The holder is asked for it so often that another node should hold it as well. */
      readonly isHot: boolean;
      readonly summary: SummaryVersion | null;
    }
  | {
      readonly kind: 'refused';
      /** The id of a node that may give the object. */
      readonly tryNode: string | null;
      readonly summary: SummaryVersion | null;
    };

/** The trailer with the digest of the body (object-pieces.ts). */
export const DIGEST_TRAILER = 'Bloomery-Digest';

/** The status of every refusal. */
export const REFUSED_STATUS = 504;

/** The fields of an answer with a body. `fields` are those for any client, with Content-Length. */
export function objectFields(fields: FieldList, summary: SummaryVersion | null, isHot = false): string[] {
  const length = fieldValue(fields, 'content-length');
  const headers = trusted(fields);
  headers.push('Bloomery-Object', '1');
  if (length !== undefined) headers.push('Bloomery-Length', length);
  if (summary !== null) headers.push('Bloomery-Summary', formatSummary(summary));
  if (isHot) headers.push('Bloomery-Keep', '1');
  headers.push('Trailer', DIGEST_TRAILER);
  return headers;
}

/** The fields of a refusal. */
export function refusalFields(summary: SummaryVersion | null, tryNode: string | null): string[] {
  const headers = ['Content-Length', '0', 'Cache-Control', 'no-store'];
  if (summary !== null) headers.push('Bloomery-Summary', formatSummary(summary));
  if (tryNode !== null) headers.push('Bloomery-Try', tryNode);
  return headers;
}

/** Reads the head of an answer. A head that is not an object's counts as a refusal. */
export function readAnswer({ status, statusText, headers }: ResponseHead): ObjectAnswer {
  const summary = readSummary(fieldValue(headers, 'bloomery-summary'));
  const length = fieldValue(headers, 'bloomery-length');
  const isObject = fieldValue(headers, 'bloomery-object') === '1' && status < 500;
  if (!isObject || (length !== undefined && !/^\d{1,15}$/.test(length))) {
    const tryNode = fieldValue(headers, 'bloomery-try');
    return {
      kind: 'refused',
      tryNode: tryNode !== undefined && /^[\x21-\x7e]{1,128}$/.test(tryNode) ? tryNode : null,
      summary,
    };
  }
  const fields = trusted(headers);
  if (length !== undefined) fields.push('Content-Length', length);
  return {
    kind: 'object',
    head: { status, statusText, headers: fields },
    length: length === undefined ? null : Number(length),
    isHot: fieldValue(headers, 'bloomery-keep') === '1',
    summary,
  };
}

/**
 * SHA-256 of the question and of the head of its answer. The check codes of the body include it, so
 * they prove both. The signature is different for each question, so an answer cannot be replayed.
 * The fields of the question are included because the signature does not cover them. Otherwise an
 * attacker on the network could change Accept-Language, and have another variant stored in the
 * place of the one that was asked for.
 */
export function answerContext(
  signature: string,
  questionFields: FieldList,
  status: number,
  answerFields: FieldList,
): Buffer {
  const hash = createHash('sha256');
  const asked = fieldsThatCount(questionFields);
  // Connection, Transfer-Encoding and the like belong to the connection; Node writes them itself.
  const answered = endToEndFields(answerFields);
  // No text has a line break, and the numbers say where a list ends.
  const lines = [
    'bloomery object 1',
    signature,
    asked.length,
    ...asked,
    status,
    answered.length,
    ...answered,
  ];
  return hash.update(lines.join('\n'), 'latin1').digest();
}

function formatSummary({ epoch, sequence }: SummaryVersion): string {
  return `${epoch}.${sequence}`;
}

function readSummary(text: string | undefined): SummaryVersion | null {
  const parts = /^(\d{1,15})\.(\d{1,15})$/.exec(text ?? '');
  return parts === null ? null : { epoch: Number(parts[1]), sequence: Number(parts[2]) };
}

/**
 * The fields without those that a neighbour neither sends on nor believes. A cookie is for one
 * client, and the length is told in another field. All names that begin with `Bloomery-` are this
 * protocol's own: an origin may have sent them, or a node of a later version, and no client may see
 * them.
 */
function trusted(fields: FieldList): string[] {
  const kept = withoutFields(endToEndFields(fields), UNTRUSTED);
  return kept.filter((_, at) => !kept[at - (at % 2)]!.toLowerCase().startsWith('bloomery-'));
}

const UNTRUSTED: ReadonlySet<string> = new Set(['content-length', 'set-cookie', 'set-cookie2']);
