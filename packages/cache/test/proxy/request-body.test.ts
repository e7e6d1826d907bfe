/** A body that goes to another sender than the first: whole, or not at all. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { RequestBody } from '../../src/proxy/client/request-body.ts';
import { cleanUp, until } from '../node/scratch.ts';

describe('the body of a request', () => {
  /** A real request whose body comes in two pieces; the second when `rest` is called. */
  async function halfSent(): Promise<{ readonly incoming: IncomingMessage; rest(): void }> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanUp(() => server.close());
    const client = request({ port: (server.address() as AddressInfo).port, method: 'PUT', agent: false });
    client.on('error', () => {});
    cleanUp(() => client.destroy());
    client.write('first');
    const [incoming] = (await once(server, 'request')) as [IncomingMessage];
    return { incoming, rest: () => client.end('final') };
  }

  async function textOf(body: RequestBody): Promise<string> {
    let text = '';
    for await (const chunk of body) text += chunk;
    return text;
  }

  it('is whole again when it was given back', async () => {
    const { incoming, rest } = await halfSent();
    expect(new RequestBody(incoming, 1000).giveBack()).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 50));
    rest();
    expect(await textOf(new RequestBody(incoming, 1000))).toBe('firstfinal');
  });

  it('is not given back once it was asked for, or dropped', async () => {
    const begun = new RequestBody((await halfSent()).incoming, 1000);
    begun.on('error', () => {});
    begun.read(0);
    expect(begun.giveBack()).toBe(false);
    const dropped = new RequestBody((await halfSent()).incoming, 1000);
    dropped.destroy();
    expect(dropped.giveBack()).toBe(false);
  });

  it('never is the rest of one', async () => {
    const { incoming, rest } = await halfSent();
    incoming.resume();
    await until('the beginning to be gone', () => incoming.readableDidRead);
    rest();
    await expect(textOf(new RequestBody(incoming, 1000))).rejects.toThrow(/was read before, and is gone/);
  });
});
