import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import {
  checkNodeInternals,
  closeAfter,
  cutConnection,
  hasTurn,
  isAnswering,
  type NodeParts,
  setMaxHeaderSize,
} from './node-internals.ts';

const parts: NodeParts = { createServer, ServerResponse, llhttp: '9.3.1' };

/** Sends the bytes and returns everything that comes until the server closes the connection. */
async function talk(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', () => {});
  socket.write(bytes);
  await once(socket, 'close');
  return text;
}

async function serving<T>(
  handle: (req: IncomingMessage, res: ServerResponse) => void,
  use: (port: number, server: Server) => Promise<T>,
): Promise<T> {
  const server = createServer({ maxHeaderSize: 2000 }, handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await use((server.address() as AddressInfo).port, server);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;

test('checkNodeInternals finds everything in this Node', () => {
  expect(checkNodeInternals(parts)).toEqual([]);
});

test('checkNodeInternals refuses a Node that gives a response its socket too early', () => {
  class Early extends ServerResponse {
    constructor(request: IncomingMessage) {
      super(request);
      this.assignSocket(request.socket);
    }
  }
  expect(() => checkNodeInternals({ ...parts, ServerResponse: Early as typeof ServerResponse })).toThrow(
    /^Cannot guard a server: expected a response to have no socket before its turn, got .* \(Node v\d/,
  );
});

test('checkNodeInternals refuses a Node that gives a response its socket without an event', () => {
  class Silent extends ServerResponse {
    override assignSocket(socket: Socket): void {
      Object.assign(this, { socket });
    }
  }
  expect(() => checkNodeInternals({ ...parts, ServerResponse: Silent as typeof ServerResponse })).toThrow(
    /expected a response to be given the socket in its turn/,
  );
});

test('checkNodeInternals refuses a Node that leaves the socket with a response that is sent', () => {
  class Keeping extends ServerResponse {
    override detachSocket(): void {}
  }
  expect(() => checkNodeInternals({ ...parts, ServerResponse: Keeping as typeof ServerResponse })).toThrow(
    /expected a response to lose the socket after its turn/,
  );
});

test('checkNodeInternals refuses a Node that calls a waiting response finished', () => {
  class Hasty extends ServerResponse {
    constructor(request: IncomingMessage) {
      super(request);
      Object.defineProperty(this, 'writableFinished', { get: () => this.writableEnded });
    }
  }
  expect(() => checkNodeInternals({ ...parts, ServerResponse: Hasty as typeof ServerResponse })).toThrow(
    /expected a response that waits for its turn to be unfinished/,
  );
});

test('checkNodeInternals warns about fields that are missing, and about an old parser', () => {
  class Endless extends ServerResponse {
    constructor(request: IncomingMessage) {
      super(request);
      Object.assign(this, { shouldKeepAlive: undefined });
    }
  }
  const old: NodeParts = {
    createServer: () => createServer(),
    ServerResponse: Endless as typeof ServerResponse,
    llhttp: '8.1.2',
  };
  expect(checkNodeInternals(old)).toEqual([
    expect.stringMatching(/^Node v\S+ has no ServerResponse\.shouldKeepAlive, so a stop/),
    expect.stringMatching(/^Node v\S+ has no Server\.maxHeaderSize, so a larger limit headBytes/),
    expect.stringMatching(/^Node v\S+ accepts heads that end with a bare LF \(llhttp 8\.1\.2\)/),
  ]);
});

test('hasTurn and isAnswering follow two pipelined answers to their end', async () => {
  const seen: ServerResponse[] = [];
  let second: (res: ServerResponse) => void = () => {};
  const arrived = new Promise<ServerResponse>((resolve) => {
    second = resolve;
  });
  await serving(
    (_req, res) => {
      seen.push(res);
      if (seen.length === 2) second(res);
    },
    async (port) => {
      const text = talk(port, get('/1') + get('/2', 'Connection: close\r\n'));
      await arrived;
      const [one, two] = seen as [ServerResponse, ServerResponse];
      expect([hasTurn(one), hasTurn(two), isAnswering(two)]).toEqual([true, false, true]);
      two.end('two');
      expect([hasTurn(two), isAnswering(two)]).toEqual([false, true]);
      one.end('one');
      await once(two, 'finish');
      expect(isAnswering(one)).toBe(false);
      expect(await text).toMatch(/one[\s\S]*two/);
      expect(isAnswering(two)).toBe(false);
    },
  );
  expect(isAnswering(undefined)).toBe(false);
});

test('cutConnection ends the connection when the answers before it are sent', async () => {
  const waiting: ServerResponse[] = [];
  const text = await serving(
    (req, res) => {
      if (req.url === '/1') waiting.push(res);
      else {
        cutConnection(res);
        setImmediate(() => waiting[0]?.end('one'));
      }
    },
    (port) => talk(port, get('/1') + get('/2')),
  );
  expect(text).toMatch(/^HTTP\/1\.1 200 [\s\S]*one/);
  expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
});

test('cutConnection ends the connection of an answer whose turn has come', async () => {
  const text = await serving(
    (_req, res) => {
      res.writeHead(200, { 'Content-Length': 100 });
      res.write('half', () => cutConnection(res));
    },
    (port) => talk(port, get('/1')),
  );
  expect(text).toMatch(/half$/);
});

test('closeAfter makes an answer the last one of its connection', async () => {
  const text = await serving(
    (_req, res) => {
      closeAfter(res);
      res.writeHead(200, ['X', 'y']).end('last');
    },
    (port) => talk(port, get('/1')),
  );
  expect(text).toMatch(/\r\nConnection: close\r\n[\s\S]*last/);
});

test('setMaxHeaderSize counts for connections that come later', async () => {
  const long = get('/', `X-Long: ${'a'.repeat(4000)}\r\nConnection: close\r\n`);
  await serving(
    (_req, res) => res.end('served'),
    async (port, server) => {
      expect(await talk(port, long)).toMatch(/^HTTP\/1\.1 431 /);
      setMaxHeaderSize(server, 8000);
      expect(await talk(port, long)).toMatch(/served$/);
    },
  );
});
