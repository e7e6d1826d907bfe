/**
 * The targets of requests between nodes, and the query of a stream: versions of the protocol,
 * topics, and for a pull the place up to which the asker knows the messages.
 */

import { isTopic } from '../transport.ts';
import { commonProtocol } from './hello.ts';

/** Everything below this path belongs to the transport. */
export const PEER_PATHS = '/.bloomery/peers/';
export const STREAM_PATH = `${PEER_PATHS}stream`;
export const ASK_PATH = `${PEER_PATHS}ask`;

/** A frame has one byte for the index of its topic. */
const MOST_TOPICS = 256;

export interface StreamQuery {
  readonly protocol: number;
  readonly topics: readonly string[];
  readonly pull?: { readonly life: string; readonly next: number };
}

/** Reads the query of a stream. Says what is wrong with it, as the code of a refusal. */
export function readStreamQuery(query: URLSearchParams): StreamQuery | 'version' | 'topic' {
  const protocol = commonProtocol(query.get('protocols') ?? '');
  if (protocol === null) return 'version';
  const topics = (query.get('topics') ?? '').split(',').filter((topic) => topic !== '');
  if (topics.length > MOST_TOPICS || !topics.every(isTopic)) return 'topic';
  const pull = query.get('pull');
  if (pull === null) return { protocol, topics };
  const [life = '', next = ''] = pull.split('.');
  return { protocol, topics, pull: { life, next: Number(next) } };
}
