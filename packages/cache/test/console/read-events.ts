/** A reader of the event stream, as a browser has one. */

import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { until } from '@bloomery/testkit/eventually';
import { cleanUp } from '../node/scratch.ts';

interface StreamEvent {
  readonly name: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it
  readonly data: any;
}

export interface EventReader {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** All events so far. */
  readonly events: readonly StreamEvent[];
  readonly text: string;
  readonly isEnded: boolean;
  /** Resolves with the first event from `from` on that satisfies the test. */
  wait(name: string, is?: (data: StreamEvent['data']) => boolean, from?: number): Promise<StreamEvent>;
  close(): void;
}

export async function readEvents(
  port: number,
  headers: Record<string, string> = {},
  path = '/.bloomery/events',
): Promise<EventReader> {
  const asked: ClientRequest = request({ host: '127.0.0.1', port, path, agent: false, headers });
  asked.on('error', () => {});
  asked.end();
  cleanUp(() => asked.destroy());
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  const events: StreamEvent[] = [];
  const state = { text: '', isEnded: false };
  let rest = '';
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    state.text += chunk;
    const blocks = (rest + chunk).split('\n\n');
    rest = blocks.pop() as string;
    for (const block of blocks) {
      const name = /^event: (.*)$/m.exec(block)?.[1];
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (name !== undefined) events.push({ name, data: JSON.parse(data as string) });
    }
  });
  response.on('error', () => {});
  response.on('close', () => {
    state.isEnded = true;
  });
  return {
    status: response.statusCode as number,
    headers: response.headers,
    events,
    get text() {
      return state.text;
    },
    get isEnded() {
      return state.isEnded;
    },
    async wait(name, is = () => true, from = 0) {
      const find = () => events.slice(from).find((event) => event.name === name && is(event.data));
      await until(`the event ${name}`, () => find() !== undefined);
      return find() as StreamEvent;
    },
    close: () => void asked.destroy(),
  };
}
