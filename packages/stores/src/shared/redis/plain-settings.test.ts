import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { expect, test } from 'vitest';
import { ioRedisSettings, nodeRedisSettings } from './plain-settings.ts';

const io = (...words: unknown[]) =>
  // The types of the constructor's many forms do not matter here.
  new (Redis as unknown as new (...words: unknown[]) => Redis)(...words);
const lazy = { lazyConnect: true };

test('ioRedisSettings takes address, user, database and name of a client', async () => {
  const settings = ioRedisSettings(
    io('redis://ada:s%40same@redis.example:6380/3', { ...lazy, connectionName: 'app' }),
    undefined,
  );
  expect(settings).toMatchObject({
    socket: { host: 'redis.example', port: 6380 },
    isTls: false,
    database: 3,
    name: 'app',
  });
  expect(await settings?.credentials()).toEqual({ username: 'ada', password: 's@same' });
});

test('ioRedisSettings takes options of TLS, a unix socket, and another node', () => {
  const tls = { ca: 'certificate' };
  expect(ioRedisSettings(io({ ...lazy, host: 'a', tls }), undefined)).toMatchObject({
    socket: { host: 'a', port: 6379, ca: 'certificate' },
    isTls: true,
  });
  expect(ioRedisSettings(io('rediss://a:1', lazy), { host: 'b', port: 2 })).toMatchObject({
    socket: { host: 'b', port: 2 },
    isTls: true,
  });
  const local = io({ ...lazy, path: '/run/redis.sock' });
  expect(ioRedisSettings(local, undefined)?.socket).toEqual({ path: '/run/redis.sock' });
  expect(ioRedisSettings(local, { host: 'b', port: 2 })?.socket).toMatchObject({ host: 'b', port: 2 });
});

test('ioRedisSettings leaves Sentinels and connectors of the caller to the client', () => {
  const sentinels = [{ host: 'a', port: 26_379 }];
  expect(ioRedisSettings(io({ ...lazy, sentinels, name: 'main' }), undefined)).toBe(null);
  expect(ioRedisSettings(io({ ...lazy, Connector: class {} }), undefined)).toBe(null);
});

test('nodeRedisSettings takes address, user, database and name of a client', async () => {
  const settings = nodeRedisSettings(
    createClient({ url: 'redis://ada:s%40same@redis.example:6380/3', name: 'app' }),
    undefined,
  );
  expect(settings).toMatchObject({
    socket: { host: 'redis.example', port: 6380 },
    isTls: false,
    database: 3,
    name: 'app',
  });
  expect(await settings?.credentials()).toEqual({ username: 'ada', password: 's@same' });
  expect(nodeRedisSettings(createClient(), undefined)).toMatchObject({ socket: { port: 6379 }, database: 0 });
});

test('nodeRedisSettings takes options of TLS, a unix socket, and another node', () => {
  const socket = { host: 'a', tls: true, ca: 'certificate' } as const;
  expect(nodeRedisSettings(createClient({ socket }), undefined)).toMatchObject({
    socket: { host: 'a', port: 6379, ca: 'certificate' },
    isTls: true,
  });
  expect(nodeRedisSettings(createClient({ url: 'rediss://a:1' }), { host: 'b', port: 2 })).toMatchObject({
    socket: { host: 'b', port: 2 },
    isTls: true,
  });
  const local = createClient({ url: 'unix:///run/redis.sock' });
  expect(nodeRedisSettings(local, undefined)?.socket).toMatchObject({ path: '/run/redis.sock' });
  expect(nodeRedisSettings(local, { host: 'b', port: 2 })?.socket).toMatchObject({ host: 'b', port: 2 });
});

test('nodeRedisSettings asks a provider of credentials, and leaves one that streams to the client', async () => {
  const credentials = async () => ({ username: 'ada', password: 'rotated' });
  const asked = createClient({
    credentialsProvider: { type: 'async-credentials-provider', credentials },
  });
  expect(await nodeRedisSettings(asked, undefined)?.credentials()).toEqual(await credentials());
  const subscribe = async () => [{ username: 'ada', password: '1' }, { dispose() {} }] as never;
  const streaming = createClient({
    credentialsProvider: {
      type: 'streaming-credentials-provider',
      subscribe,
      onReAuthenticationError() {},
    },
  });
  expect(nodeRedisSettings(streaming, undefined)).toBe(null);
});
