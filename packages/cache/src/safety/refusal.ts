/**
 * The reason why a client is not served: a status, a code for programs and a sentence for people.
 * Input from the client is quoted as JSON and truncated, so that it cannot be mistaken for text of
 * this node. `own-answer.ts` writes it.
 */

import type { OwnAnswer } from './own-answer.ts';

/** An answer of the guards. The code is stable, for logs and metrics. */
export type Refusal = OwnAnswer;

export function refusal(status: number, code: string, message: string): Refusal {
  return { status, code, message, error: 'http_request_error' };
}

/** Quotes a piece of the input, safe for use in a message. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text).replace(
    // JSON leaves DEL and above as they are; the message is sent as ASCII.
    /[^\x20-\x7e]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
