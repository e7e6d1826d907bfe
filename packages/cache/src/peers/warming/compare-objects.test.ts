/** Comparisons in memory: against a model, on changing sets, and with a holder that lies. */

import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { FleetKeyring, systemClock, type Transport } from '@bloomery/transport';
import { expect, test } from 'vitest';
import { type Comparison, compareObjects } from './compare-objects.ts';
import {
  decodeWarmRequest,
  encodeCompareAnswer,
  encodeListAnswer,
  encodeOpenAnswer,
  type WarmObject,
} from './decisions/warm-message.ts';
import { itemOf } from './offered-objects.ts';
import { WarmError } from './warm-error.ts';
import { WarmService } from './warm-service.ts';

const keyring = new FleetKeyring([Buffer.from('a secret of sixteen bytes or more')]);
const pause = async () => {};
const objectOf = (i: number): WarmObject => ({
  key: `http://example.org/objects/${i}`,
  varied: i % 3 === 0 ? [['accept-encoding', 'gzip']] : [],
  bytes: i,
  freshMs: 1e6,
});

type Ask = (body: Uint8Array) => Promise<Uint8Array>;

/** A holder of these objects. `ask` is what a neighbour of this name asks. */
function holderOf(read: () => readonly WarmObject[]): { service: WarmService; ask: (from?: string) => Ask } {
  let answer: Parameters<Transport['serve']>[1] | null = null;
  const serve: Transport['serve'] = (_topic, service) => {
    answer = service;
    return () => {};
  };
  const service = new WarmService({
    transport: { serve },
    clock: systemClock,
    keyring,
    read: async () => read(),
    pause,
    event: () => {},
  });
  return {
    service,
    ask:
      (from = 'asker') =>
      async (body) =>
        answer!(body, from),
  };
}

function compare(own: readonly WarmObject[], ask: Ask): Promise<Comparison> {
  const { id, summary } = keyring.first;
  const random = () => crypto.getRandomValues(new Uint8Array(8));
  const { signal } = new AbortController();
  return compareObjects({ own, keyId: id, key: summary, ask, random, pause, signal });
}

test('finds exactly the objects that are missing, whatever the sets have in common', async () => {
  const random = new Random(3);
  for (let round = 0; round < withEffort(8); round++) {
    const size = random.pick([0, 1, 30, 900, 3000]);
    const all = Array.from({ length: size + 200 }, (_, i) => objectOf(i));
    const share = random.pick([0, 0.5, 0.99, 1]);
    const here = all.filter(() => random.below(1000) < 1000 * share);
    const there = all.filter(() => random.below(1000) < 980);
    const known = new Set(here.map(itemOf));
    const { service, ask } = holderOf(() => there);
    // Each request comes twice, as a transport may repeat it.
    const twice: Ask = async (body) => {
      if (decodeWarmRequest(body)?.kind !== 'open') await ask()(body);
      return ask()(body);
    };
    const { lacking, offered } = await compare(here, twice);
    const model = there.filter((object) => !known.has(itemOf(object)));
    expect(lacking.map(itemOf).sort()).toEqual(model.map(itemOf).sort());
    expect(offered).toBe(there.length);
    service.close();
  }
});

test('equal sets cost their sums alone, and a few differences some hundred bytes each', async () => {
  const all = Array.from({ length: 10_000 }, (_, i) => objectOf(i));
  const { ask, service } = holderOf(() => all);
  const same = await compare(all, ask());
  expect(same).toMatchObject({ lacking: [], requests: 2 });
  expect(same.bytesSent + same.bytesReceived).toBeLessThan(700);
  const few = await compare(all.slice(5), ask());
  expect(few.lacking).toHaveLength(5);
  expect(few.bytesSent + few.bytesReceived).toBeLessThan(700 + 5 * 900);
  service.close();
});

test('a holder has one comparison of a neighbour, two in all, and forgets foreign ones', async () => {
  const all = Array.from({ length: 100 }, (_, i) => objectOf(i));
  const { ask, service } = holderOf(() => all);
  await compare([], ask('one'));
  await compare([], ask('one'));
  expect(service.offers).toBe(1);
  await compare([], ask('two'));
  await expect(compare([], ask('three'))).rejects.toMatchObject({ code: 'busy' });
  // Bytes of another session are refused, and garbage is as well.
  for (const body of [Uint8Array.of(), Uint8Array.of(1, 2), Uint8Array.of(9)])
    expect(await ask('one')(body)).toEqual(Uint8Array.of(1, 0));
  service.close();
  expect(service.offers).toBe(0);
});

test('bytes that are no comparison end it at the holder, and nothing else', async () => {
  const all = Array.from({ length: 600 }, (_, i) => objectOf(i));
  const { ask, service } = holderOf(() => all);
  const damaging: Ask = (body) => {
    const changed = body.slice();
    if (decodeWarmRequest(body)?.kind === 'compare') changed[changed.length - 5]! ^= 255;
    return ask()(changed);
  };
  await expect(compare(all.slice(7), damaging)).rejects.toThrow(WarmError);
  expect((await compare(all.slice(7), ask())).lacking).toHaveLength(7);
  service.close();
});

test('a lying holder is bounded: every answer is right, or ends the comparison with a code', async () => {
  const session = '0011223344556677';
  const sums = new Uint32Array(4);
  const opening = encodeOpenAnswer({ session, objects: 5, sums });
  const own = [objectOf(1), objectOf(2), objectOf(4)];
  const lie = (on: Partial<Record<'open' | 'compare' | 'list', (body: Uint8Array) => Uint8Array>>): Ask => {
    return async (body) => on[decodeWarmRequest(body)!.kind]?.(body) ?? new Uint8Array(0);
  };
  const endless = Array.from({ length: 10 }, (_, i) => objectOf(i));
  const buckets = (body: Uint8Array, bytes: Uint8Array) => {
    const request = decodeWarmRequest(body);
    return request?.kind === 'compare'
      ? encodeCompareAnswer(request.buckets.map(({ bucket }) => ({ bucket, bytes })))
      : new Uint8Array(0);
  };
  const open = () => opening;
  const codeOf = (ask: Ask) =>
    compare(own, ask).then(
      () => 'none',
      (error: WarmError) => error.code,
    );
  expect(await codeOf(lie({}))).toBe('malformed');
  expect(await codeOf(lie({ open: () => Uint8Array.of(1, 4) }))).toBe('busy');
  expect(await codeOf(lie({ open }))).toBe('malformed');
  expect(await codeOf(lie({ open, compare: (body) => buckets(body, Uint8Array.of(9, 9, 9)) }))).toBe(
    'malformed',
  );
  // It never says anything that would end a bucket.
  expect(await codeOf(lie({ open, compare: (body) => buckets(body, new Uint8Array(0)) }))).toBe('limit');
  expect(await codeOf(lie({ open, compare: () => new Uint8Array(2 ** 28) }))).toBe('limit');
  const equal = () => encodeOpenAnswer({ session, objects: 0, sums: new Uint32Array(2) });
  const empty = (list: (body: Uint8Array) => Uint8Array) =>
    compare([], lie({ open: equal, list })).then(
      ({ lacking }) => lacking.length,
      (error: WarmError) => error.code,
    );
  expect(await empty(() => encodeListAnswer({ total: 2 ** 40, objects: [] }))).toBe('limit');
  expect(await empty(() => encodeListAnswer({ total: 5, objects: [] }))).toBe('malformed');
  // A list that is longer than it says is cut.
  expect(await empty(() => encodeListAnswer({ total: 3, objects: endless }))).toBe(3);
});
