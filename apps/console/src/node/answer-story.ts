/**
 * The story of a request in words, from the codes that a node gives (docs/spec/console.md). Pure. A
 * code that is not known here is shown as it is.
 */

import { bytesText, durationText } from '../page/number-text.ts';
import type { Answer, Outcome } from './node-api.ts';

const FROM: Record<Outcome, string> = {
  hit: 'this cache',
  stale: 'this cache, stale',
  validated: 'this cache, confirmed by the origin',
  miss: 'the origin',
  neighbour: 'a neighbour',
  collapsed: 'another request’s fetch',
  bypass: 'the origin, past the cache',
  tunnel: 'a tunnel',
  error: 'nowhere: the origin failed',
  refused: 'nowhere: refused',
};

/** `fwd` of Cache-Status (RFC 9211, 2.2). */
const REASONS: Record<string, string> = {
  'uri-miss': 'Nothing was stored under this URL.',
  'vary-miss': 'Something was stored under this URL, but for other request fields.',
  miss: 'Nothing that was stored could be used.',
  request: 'The request asked for a fresh answer.',
  stale: 'The stored response was too old.',
  partial: 'Only a part of it was stored.',
  method: 'A cache may not answer this method.',
  bypass: 'This node is set up not to store it.',
};

const NOT_STORED: Record<string, string> = {
  method: 'only responses to GET are stored',
  'request-content': 'the GET had content, which is not part of the key',
  'request-no-store': 'the request said no-store',
  status: 'a response with this status is never stored',
  'must-understand': 'the origin said must-understand, and the status is not understood',
  'no-store': 'the origin said no-store',
  private: 'the origin said private',
  authorization: 'the request had Authorization, and the origin allows no sharing',
  'no-freshness': 'without lifetime and validator it could never be used',
  vary: 'Vary: * matches no later request',
  partial: 'it is a part that cannot be stored or combined',
  personal: 'it was a POST with a cookie, credentials or fields about its sender',
  cookie: 'the request had a cookie, and the origin did not say that the response is for all',
  'set-cookie': 'it sets a cookie, and must be validated at each use',
  'wrong-length': 'its fields contradict each other about the length',
  'too-large': 'it is longer than the limit',
  'no-room': 'the store could not take it at that moment',
  'not-admitted': 'it was seen for the first time and is too long for memory',
  overtaken: 'its key was invalidated or purged while it arrived',
  incomplete: 'its end never came',
  'wrong-digest': 'its bytes are not those that its digest names',
};

/** The words for a code, or null for a code that has none. */
function wordsFor(words: Readonly<Record<string, string>>, code: string): string | null {
  return Object.hasOwn(words, code) ? (words[code] as string) : null;
}

/** The source of an answer, in a few words. */
export function sourceText({ outcome, neighbour }: Answer): string {
  if (outcome === 'neighbour' && neighbour !== null) return neighbour;
  return wordsFor(FROM, outcome) ?? outcome;
}

/** Sentences, in the order of events. */
export function storyOf(answer: Answer): string[] {
  const { method, status, outcome, reason, neighbours, notStored, isAborted } = answer;
  const story = [`${method} was answered with ${status} after ${durationText(answer.durationMs)}.`];
  if (outcome === 'hit') story.push('A fresh response was stored here, so no other server was asked.');
  else if (reason !== '') story.push(wordsFor(REASONS, reason) ?? `Reason: ${reason}.`);
  if (outcome === 'collapsed')
    story.push('Another request for it was already on its way; this one shared it.');
  if (neighbours !== null) story.push(`About neighbours: ${neighbours}.`);
  story.push(`It came from ${sourceText(answer)}.`);
  const parts = [`${bytesText(answer.bytesSent)} were sent`];
  if (answer.bytesFromOrigin > 0) parts.push(`${bytesText(answer.bytesFromOrigin)} came from the origin`);
  if (answer.bytesFromNeighbours > 0)
    parts.push(`${bytesText(answer.bytesFromNeighbours)} came from neighbours`);
  story.push(`${parts.join(', ')}.`);
  if (notStored !== null) story.push(`It was not stored: ${wordsFor(NOT_STORED, notStored) ?? notStored}.`);
  if (isAborted) story.push('The client or the origin disconnected before the end.');
  return story;
}
