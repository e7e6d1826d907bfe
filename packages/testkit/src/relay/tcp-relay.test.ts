import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { until } from '../eventually.ts';
import { Random } from '../statistics.ts';
import { flipBitAt, flipBits, type RelayOptions, TcpRelay } from './tcp-relay.ts';

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** A server that sends back what it gets, and a client of it through a relay. */
async function echo(options: Omit<RelayOptions, 'target'> = {}) {
  const atServer: Socket[] = [];
  const server = createServer((socket) => {
    atServer.push(socket);
    socket.on('error', () => {});
    socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push(() => server.close());
  const relay = await TcpRelay.start({ ...options, target: (server.address() as { port: number }).port });
  open.push(() => relay[Symbol.asyncDispose]());
  return { relay, atServer, client: client(relay.port) };
}

function client(port: number) {
  const socket = connect(port, '127.0.0.1');
  const pieces: Buffer[] = [];
  const state = { socket, ended: false, error: null as string | null, got: () => Buffer.concat(pieces) };
  socket.on('data', (piece) => pieces.push(piece));
  socket.on('end', () => {
    state.ended = true;
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    state.error = error.code ?? error.message;
  });
  open.push(() => socket.destroy());
  return state;
}

const BYTES = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 31) % 251));

test('TcpRelay passes all bytes and the ends of both directions, and records them', async () => {
  const { relay, client } = await echo({ record: true });
  client.socket.end(BYTES);
  await until('the echo ends', () => client.ended);
  expect(client.got().equals(BYTES)).toBe(true);
  const [connection] = relay.connections;
  expect(connection?.sent).toEqual({ toServer: BYTES.length, toClient: BYTES.length });
  expect(connection?.recorded().toServer.equals(BYTES)).toBe(true);
  expect(relay.recorded()).toHaveLength(2 * BYTES.length);
});

test('TcpRelay stalls at the byte that it is told, and goes on when it is healed', async () => {
  const { relay, client } = await echo({ faults: { toClient: { stallAfter: 1000 } } });
  client.socket.end(BYTES);
  await until('the first bytes', () => client.got().length === 1000);
  await until('the server has sent more', () => relay.connections[0]!.sent.toClient > 100_000);
  expect(client.got()).toHaveLength(1000);
  expect(client.ended).toBe(false);
  relay.setFaults();
  await until('the echo ends', () => client.ended);
  expect(client.got().equals(BYTES)).toBe(true);
});

test('TcpRelay cuts at the byte that it is told, with a reset on both sides', async () => {
  const { relay, atServer, client } = await echo({ faults: { toServer: { cutAfter: 12_345 } } });
  client.socket.write(BYTES);
  await until('the reset', () => client.socket.destroyed && atServer[0]?.destroyed);
  expect(client.error).toBe('ECONNRESET');
  expect(client.got().length).toBeLessThanOrEqual(12_345);
  expect(relay.connections[0]!.open).toBe(false);
});

test('TcpRelay closes at the byte that it is told, after all bytes before it have arrived', async () => {
  const { relay, atServer, client } = await echo({ faults: { toClient: { closeAfter: 12_345 } } });
  client.socket.write(BYTES.subarray(0, 60_000));
  await until('the end', () => client.ended && atServer[0]?.destroyed);
  expect(client.error).toBeNull();
  expect(client.got().equals(BYTES.subarray(0, 12_345))).toBe(true);
  expect(relay.connections[0]!.passed).toEqual({ toServer: 60_000, toClient: 12_345 });
});

test('TcpRelay resets new connections while it refuses', async () => {
  const { relay } = await echo({ faults: { refuse: true } });
  const refused = client(relay.port);
  await until('the reset', () => refused.socket.destroyed);
  expect(refused.error).toBe('ECONNRESET');
  relay.setFaults();
  const taken = client(relay.port);
  taken.socket.end('hello');
  await until('the echo', () => taken.ended);
  expect(taken.got().toString()).toBe('hello');
});

test('TcpRelay damages the bytes that it is told, and no other', async () => {
  const { client, relay } = await echo({
    record: true,
    faults: { toClient: { damage: flipBitAt(0, 70_001) } },
  });
  client.socket.end(BYTES);
  await until('the echo ends', () => client.ended);
  const wrong = [...client.got().entries()].filter(([at, byte]) => byte !== BYTES[at]);
  expect(wrong).toEqual([
    [0, BYTES[0]! ^ 1],
    [70_001, BYTES[70_001]! ^ 1],
  ]);
  expect(relay.connections[0]!.recorded().toClient.equals(BYTES), 'recorded before the damage').toBe(true);
});

test('flipBits damages the share of bytes that it is told, from the offset on', () => {
  const dice = new Random(5);
  const damage = flipBits(() => dice.bits() / 2 ** 32, 0.01, 5000);
  const bytes = Buffer.alloc(105_000);
  for (let at = 0; at < bytes.length; at += 7000) damage(bytes.subarray(at, at + 7000), at);
  expect(bytes.subarray(0, 5000).every((byte) => byte === 0)).toBe(true);
  const damaged = bytes.filter((byte) => byte !== 0).length;
  // 1,000 expected, with a standard deviation of 31.
  expect(Math.abs(damaged - 1000)).toBeLessThan(160);
});

test('TcpRelay throttles and delays', async () => {
  const { client } = await echo({
    faults: { toServer: { delayMs: 30 }, toClient: { bytesPerSecond: 3_000_000 } },
  });
  const began = performance.now();
  client.socket.end(BYTES);
  await until('the first byte', () => client.got().length > 0);
  expect(performance.now() - began).toBeGreaterThan(29);
  await until('the echo ends', () => client.ended);
  // 300 kB at 3 MB/s, of which a burst of 20 ms may come at once.
  expect(performance.now() - began).toBeGreaterThan(29 + 79);
  expect(client.got().equals(BYTES)).toBe(true);
});

test('TcpRelay takes the connections of another server, and reaches its target by a function', async () => {
  const target = createServer((socket) => socket.pipe(socket));
  const listener = createServer();
  for (const server of [target, listener]) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  const [targetPort, port] = [target, listener].map((server) => (server.address() as { port: number }).port);
  let isThere = false;
  const reach = async () => {
    if (!isThere) throw new Error('not yet');
    const socket = connect(targetPort!, '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  };
  const relay = await TcpRelay.start({ listener, target: reach });
  open.push(
    () => target.close(),
    () => relay[Symbol.asyncDispose](),
  );
  const early = client(port!);
  await until('it is reset', () => early.error === 'ECONNRESET');
  isThere = true;
  const late = client(port!);
  late.socket.end(BYTES);
  await until('the echo ends', () => late.ended);
  expect(late.got().equals(BYTES)).toBe(true);
});
