/** Questions to a neighbour that knows the secret and keeps to nothing else. */

import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '@bloomery/testkit/eventually';
import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { FleetKeyring, systemClock } from '@bloomery/transport';
import { RequestSigner } from '@bloomery/transport/http';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { OriginClient } from '../proxy/origin/origin-client.ts';
import { AddressGuard } from '../safety/address-guard.ts';
import { checkLimits } from '../safety/limits.ts';
import { type AskTools, NeighbourAsk } from './neighbour-ask.ts';
import { PieceWriter } from './objects/object-pieces.ts';
import { answerContext, objectFields } from './objects/object-response.ts';
import { RunningAsks } from './running-asks.ts';

const secret = Buffer.alloc(32, 5);
const keyring = new FleetKeyring([secret]);
const { response: key } = keyring.first;

let server: Server;
let client: OriginClient;
let clock: VirtualClock;
let running: RunningAsks;
/** Writes the body of the next answer; the head has its fields and a proof is possible. */
let write: (res: ServerResponse, pieces: PieceWriter) => void;
let fields: string[];
/** Sends interim responses, and calls `answer` for the final one. */
let interim: (res: ServerResponse, answer: () => void) => void;
/** Interim responses that the question has seen. */
let interims: number;
/** The calls of the listener so far. */
let told: string[];

beforeEach(async () => {
  clock = new VirtualClock();
  running = new RunningAsks();
  client = new OriginClient({
    limits: checkLimits(),
    addresses: new AddressGuard({ allowPrivate: false, allow: [], deny: [] }),
    problem: () => {},
  });
  interim = (_res, answer) => answer();
  interims = 0;
  server = createServer((req, res) => {
    res.on('error', () => {});
    // Without a Date of the response, Node would add one that is not proven.
    const head = objectFields(['Date', 'Sun, 06 Nov 1994 08:49:37 GMT', ...fields], null);
    const signature = req.headers['bloomery-peer'] as string;
    interim(res, () => {
      res.writeHead(200, head);
      write(res, new PieceWriter(key, answerContext(signature, req.rawHeaders, 200, head)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  expect([clock.pending, running.size]).toEqual([0, 0]);
  client.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** Asks once. Resolves with what the listener was told. */
function ask(): Promise<string[]> {
  told = [];
  const { port } = server.address() as AddressInfo;
  const signer = new RequestSigner(secret, 'asker', systemClock);
  const report = () => {};
  const counting: AskTools['client'] = {
    fetch: (request, handler) =>
      client.fetch(request, {
        onHead: (head) => handler.onHead(head),
        onData: (chunk) => handler.onData(chunk),
        onEnd: (trailers) => handler.onEnd(trailers),
        onError: (error) => handler.onError(error),
        onInterim: (...interim) => {
          handler.onInterim?.(...interim);
          interims++;
        },
      }),
  };
  return new Promise((resolve) => {
    const question = new NeighbourAsk(
      {
        client: counting,
        signer,
        keyring,
        clock,
        isCertified: false,
        headTimeoutMs: 60_000,
        running,
        report,
      },
      { id: 'holder', address: `http://127.0.0.1:${port}`, keyId: null },
      { method: 'GET', key: 'http://example.org/a', headers: [] },
      { kind: 'stored', waitMs: 0, rest: null, isMiss: false },
      {
        waits: () => told.push('waits') > 0,
        answered: () => told.push('answered'),
        head: () => told.push('head') > 0,
        data: (bytes) => told.push(bytes.toString()),
        end: () => resolve([...told, 'end']),
        failed: (end) => resolve([...told, end]),
      },
    );
    question.start();
  });
}

function send(res: ServerResponse, pieces: PieceWriter, text: string): boolean {
  const { before, after } = pieces.around(Buffer.from(text));
  return res.write(Buffer.concat([before, Buffer.from(text), after]));
}

function finish(res: ServerResponse, pieces: PieceWriter): void {
  res.addTrailers([['Bloomery-Digest', pieces.trailer()]]);
  res.end();
}

describe('NeighbourAsk', () => {
  test('passes a short body on when all of it is proven', async () => {
    fields = ['Content-Length', '5'];
    write = (res, pieces) => {
      send(res, pieces, 'hel');
      send(res, pieces, 'lo');
      finish(res, pieces);
    };
    expect(await ask()).toEqual(['answered', 'head', 'hel', 'lo', 'end']);
    write = (res, pieces) => {
      send(res, pieces, 'hello');
      res.end();
    };
    expect(await ask()).toEqual(['answered', 'failed']);
  });

  test('gives up a body that is longer or shorter than its length, before a byte is passed on', async () => {
    fields = ['Content-Length', '5'];
    // A body without an end must not gather in memory.
    write = (res, pieces) => {
      const more = () => {
        while (!res.destroyed && send(res, pieces, 'abc'));
        if (!res.destroyed) res.once('drain', more);
      };
      more();
    };
    expect(await ask()).toEqual(['answered', 'failed']);
    write = (res, pieces) => {
      send(res, pieces, 'abc');
      finish(res, pieces);
    };
    expect(await ask()).toEqual(['answered', 'failed']);
  });

  test('passes the head of a long body on with its first check code, and every checked piece', async () => {
    fields = [];
    write = (res, pieces) => {
      res.write(pieces.beat());
      send(res, pieces, 'one');
      send(res, pieces, 'two');
      res.write(Buffer.alloc(20));
      res.write(Buffer.from([0, 0, 0, 1, 0x78]));
      res.write(Buffer.alloc(16));
    };
    expect(await ask()).toEqual(['answered', 'head', 'one', 'two', 'damaged']);
  });

  test('does not take its own pause for the silence of the neighbour', async () => {
    fields = ['Content-Length', '100000'];
    let goOn = () => {};
    let end = () => {};
    write = (res, pieces) => {
      send(res, pieces, 'one');
      [goOn, end] = [() => send(res, pieces, 'two'), () => res.end()];
    };
    const done = ask();
    await eventually(() => told.includes('one'));
    await clock.advance(1500);
    goOn();
    await eventually(() => told.includes('two'));
    // The process stands still for 10 s, and the next timer comes before the bytes that wait.
    vi.spyOn(clock, 'monotonic').mockImplementation(() => 11_500);
    await clock.advance(600);
    expect(told).toEqual(['answered', 'head', 'one', 'two']);
    end();
    expect(await done).toEqual(['answered', 'head', 'one', 'two', 'broken']);
  });

  test('gives up a head whose first check code is wrong', async () => {
    fields = [];
    write = (res) => {
      res.write(new PieceWriter(key, Buffer.alloc(32)).beat());
    };
    expect(await ask()).toEqual(['answered', 'failed']);
  });

  test('waits for a neighbour that waits for the origin, as long as it says so', async () => {
    fields = ['Content-Length', '0'];
    write = finish;
    let processing = () => {};
    let answer = () => {};
    interim = (res, final) => {
      [processing, answer] = [() => res.writeProcessing(), final];
      processing();
    };
    const first = ask();
    await eventually(() => told.length === 1);
    for (let at = 0; at < 40; at++) {
      await clock.advance(1900);
      const before = interims;
      processing();
      await eventually(() => interims > before);
    }
    answer();
    expect(await first).toEqual(['waits', 'answered', 'head', 'end']);
    const second = ask();
    await eventually(() => told.length === 1);
    await clock.advance(1999);
    expect(told).toEqual(['waits']);
    await clock.advance(1);
    expect(await second).toEqual(['waits', 'failed']);
  });
});
