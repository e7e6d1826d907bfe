import { PostgresCluster } from '@bloomery/testkit/programs/postgres-cluster';
import { Random } from '@bloomery/testkit/statistics';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hashBytes, hashInteger, hashValue } from './postgres-hash.ts';

describe('the port of the hash functions against a real server', () => {
  let cluster: PostgresCluster;
  let client: pg.Client;

  beforeAll(async () => {
    cluster = await PostgresCluster.start();
    client = new pg.Client(cluster.connection);
    await client.connect();
  }, 120_000);
  afterAll(async () => {
    await client?.end();
    await cluster?.[Symbol.asyncDispose]();
  });

  const SEEDS = [0n, 1n, 2n, -1n, 81985529216486895n, -(2n ** 63n), 2n ** 32n];
  const halves = (seed: bigint): [number, number] => [
    Number(BigInt.asIntN(32, seed >> 32n)),
    Number(BigInt.asIntN(32, seed)),
  ];

  test('texts of every length and with characters of every length hash alike', async () => {
    const random = new Random(1);
    const letters = [...'aZ09 \t\\é€😀'];
    const texts = Array.from({ length: 600 }, (_, i) =>
      Array.from({ length: i % 60 }, () => random.pick(letters)).join(''),
    );
    for (const seed of SEEDS) {
      const { rows } = await client.query(
        'select hashtextextended(t, $2)::text h from unnest($1::text[]) with ordinality u(t, i) order by i',
        [texts, seed.toString()],
      );
      const ours = texts.map((text) => {
        hashBytes(Buffer.from(text), ...halves(seed));
        return hashValue().toString();
      });
      expect(ours).toEqual(rows.map(({ h }) => h));
    }
  });

  test('integers of all three sizes hash alike, and uuids by their bytes', async () => {
    const random = new Random(2);
    const numbers = [
      0n,
      1n,
      -1n,
      42n,
      32767n,
      -32768n,
      2n ** 31n - 1n,
      -(2n ** 31n),
      2n ** 63n - 1n,
      -(2n ** 63n),
    ];
    for (let i = 0; i < 300; i++)
      numbers.push(BigInt.asIntN(64, (BigInt(random.bits()) << 32n) | BigInt(random.bits() >>> 0)));
    const uuids = Array.from({ length: 200 }, () => Buffer.from(random.bytes(16)).toString('hex'));
    for (const seed of SEEDS) {
      const text = seed.toString();
      const integers = await client.query(
        'select hashint8extended(n, $2)::text h from unnest($1::int8[]) with ordinality u(n, i) order by i',
        [numbers.map(String), text],
      );
      const ours = numbers.map((value) => {
        hashInteger(value, ...halves(seed));
        return hashValue().toString();
      });
      expect(ours).toEqual(integers.rows.map(({ h }) => h));
      const small = await client.query(
        'select hashint2extended(-42::int2, $1)::text a, hashint4extended(-42, $1)::text b, hashint8extended(-42, $1)::text c',
        [text],
      );
      const [{ a, b, c }] = small.rows;
      hashInteger(-42n, ...halves(seed));
      expect([a, b, c]).toEqual(Array.from({ length: 3 }, () => hashValue().toString()));
      const { rows } = await client.query(
        'select uuid_hash_extended(u, $2)::text h from unnest($1::uuid[]) with ordinality x(u, i) order by i',
        [uuids, text],
      );
      expect(rows.map(({ h }) => h)).toEqual(
        uuids.map((uuid) => {
          hashBytes(Buffer.from(uuid, 'hex'), ...halves(seed));
          return hashValue().toString();
        }),
      );
    }
  });
});
