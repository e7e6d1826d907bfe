/**
 * The connection to the node: its event stream, and questions to its other endpoints. Both views
 * share one stream. When the stream cannot be opened, the page asks for the status to learn why.
 */

import { type Signal, signal } from '@preact/signals';
import { knownToken } from '../shell/admin-token.ts';
import { isServedByNode } from '../shell/route.ts';
import { afterEvent, type FeedEvent, type FeedState, FIRST_FEED } from './feed-state.ts';
import type { Answers } from './node-api.ts';

const RETRY_MS = 2000;
const KINDS = ['hello', 'counts', 'peers', 'answers', 'busiest', 'history', 'reset'] as const;

export const feed: Signal<FeedState> = signal(
  isServedByNode(location) ? FIRST_FEED : { ...FIRST_FEED, connection: { kind: 'alone' } },
);

let stream: EventSource | null = null;
let users = 0;
let closing: ReturnType<typeof setTimeout> | undefined;

/** Opens the stream while a view is shown. Returns the function that lets it go. */
export function useStream(): () => void {
  users++;
  clearTimeout(closing);
  if (stream === null && feed.value.connection.kind !== 'alone') connect();
  return () => {
    users--;
    // The other view may come next.
    closing = setTimeout(() => {
      if (users > 0) return;
      stream?.close();
      stream = null;
    }, 1000);
  };
}

function connect(): void {
  const opened = new EventSource('../events');
  stream = opened;
  for (const kind of KINDS) {
    opened.addEventListener(kind, (event) => {
      const data: unknown = JSON.parse((event as MessageEvent<string>).data);
      const before = feed.value;
      feed.value = afterEvent(before, { kind, data } as FeedEvent);
      if (feed.value.beginnings > before.beginnings) void loadAnswers();
    });
  }
  opened.addEventListener('error', () => {
    const { connection } = feed.value;
    if (connection.kind !== 'lost')
      feed.value = { ...feed.value, connection: { kind: 'lost', since: Date.now() } };
    // A browser tries again by itself unless the answer was no stream.
    if (opened.readyState === EventSource.CLOSED) void explain(opened);
  });
}

/** The stream tells new answers alone. Those before it, or that it left out, are asked for. */
async function loadAnswers(): Promise<void> {
  const { beginnings, hello } = feed.value;
  if (!hello?.features.includes('answers')) return;
  try {
    const data = await askNode<Answers>('answers');
    if (feed.value.beginnings === beginnings) feed.value = afterEvent(feed.value, { kind: 'answers', data });
  } catch {
    // The stream goes on to bring new ones, and a lost connection has a notice of its own.
  }
}

async function explain(failed: EventSource): Promise<void> {
  if (stream === failed) stream = null;
  try {
    const response = await fetch('../events', { method: 'HEAD' });
    if (!response.ok) {
      const reason = await reasonOf(response.status);
      feed.value = { ...feed.value, connection: { kind: 'refused', reason } };
    }
  } catch {
    // The node cannot be reached; `lost` says so.
  }
  setTimeout(() => {
    if (users > 0 && stream === null) connect();
  }, RETRY_MS);
}

/** The reason for a status. The answer to HEAD has no text, and `status` is refused alike. */
async function reasonOf(status: number): Promise<string> {
  if (status === 404) return 'it has no event stream: its version is older than this page';
  if (status === 503) return 'as many consoles are open as it serves';
  const response = await fetch('../status');
  return response.ok ? `it answers ${status}` : (await response.text()).trim().slice(0, 300);
}

/** An answer that is not JSON with status 200; the message is the node's. */
export class NodeRefusal extends Error {
  override readonly name = 'NodeRefusal';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Asks an endpoint of the node, with the token if there is one. */
export async function askNode<T>(path: string, { isPost = false } = {}): Promise<T> {
  const token = knownToken();
  const response = await fetch(`../${path}`, {
    method: isPost ? 'POST' : 'GET',
    headers: {
      ...(isPost ? { 'Bloomery-Admin': '1' } : {}),
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
    },
  });
  if (response.ok) return (await response.json()) as T;
  const text = (await response.text()).trim().slice(0, 300);
  throw new NodeRefusal(response.status, text === '' ? `The node answered ${response.status}` : text);
}
