/**
 * The transcript of an intersection holds the fields of docs/spec/private-intersection.md and no
 * other byte, and does not depend on keys that are not common but through points.
 */

import { withEffort } from '@bloomery/testkit/effort';
import { expectBinomial, expectUniform } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { ristretto255 } from '../../src/private/sodium.ts';
import { joined, openPair, runPair, type Side } from './session-lab.ts';

const group = await ristretto255();
const names = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${prefix}${i}@example.org`);

interface Fields {
  readonly hello: Uint8Array;
  readonly points: readonly string[];
  readonly rest: Uint8Array;
}

/** Cuts bytes into fields by the two counts alone. */
function fieldsOf(bytes: Uint8Array): Fields {
  const count = new DataView(bytes.buffer, bytes.byteOffset).getUint32(6, true);
  const points = Array.from({ length: count }, (_, i) =>
    Buffer.from(bytes.subarray(10 + 32 * i, 42 + 32 * i)).toString('hex'),
  );
  return { hello: bytes.slice(0, 10), points, rest: bytes.slice(10 + 32 * count) };
}

function run(a: Side, b: Side) {
  const [initiator, responder] = openPair(a, b);
  const { fromInitiator, fromResponder } = runPair(initiator, responder);
  return {
    query: fieldsOf(joined(fromInitiator)),
    reply: fieldsOf(joined(fromResponder)),
    initiator,
    responder,
  };
}

const magic = [0x42, 0x50, 0x53, 0x49, 1];

describe('the fields', () => {
  test.each([
    { reveals: 'keys', kinds: [0, 1], tags: 40 * 7, answer: 4 },
    // Elias and Fano: 40 + 2^5 bits, then 40 times 56 - 5 bits.
    { reveals: 'count', kinds: [2, 3], tags: 9 + 255, answer: 4 },
  ] as const)('are all bytes, and every length follows from the counts: $reveals', (expected) => {
    const { reveals, kinds, tags, answer } = expected;
    const { query, reply } = run(
      { keys: [...names('common', 10), ...names('a', 20)], options: { group, reveals, padTo: 40 }, seed: 1 },
      { keys: [...names('common', 10), ...names('b', 15)], options: { group, reveals }, seed: 2 },
    );
    expect([...query.hello]).toEqual([...magic, kinds[0], 40, 0, 0, 0]);
    expect([...reply.hello]).toEqual([...magic, kinds[1], 25, 0, 0, 0]);
    // 40 + 6 + 5 bits in a tag.
    expect([query.rest.length, reply.rest.length]).toEqual([answer, tags]);
    expect(new Set([...query.points, ...reply.points]).size).toBe(65);
  });

  test('lengths are the same for sets of the same sizes, whatever they have in common', () => {
    for (const reveals of ['keys', 'count'] as const) {
      const options = { group, reveals };
      const lengths = [names('a', 20), names('b', 20)].map((keys) => {
        const { query, reply } = run({ keys: names('a', 20), options, seed: 1 }, { keys, options, seed: 2 });
        return [query.rest.length, reply.rest.length, query.points.length, reply.points.length];
      });
      expect(lengths[0]).toEqual(lengths[1]);
    }
  });
});

describe('what the transcript depends on', () => {
  const common = names('common', 6);
  const options = { group };
  const a = { keys: [...common, ...names('a', 6)], options, seed: 3 };

  test('with the same randomness, other keys change only their own points', () => {
    const one = run(a, { keys: [...common, ...names('b', 6)], options, seed: 4 });
    const two = run(a, { keys: [...common, ...names('c', 6)], options, seed: 4 });
    expect(two.query.points).toEqual(one.query.points);
    // The tags are those of the initiator's points, and the answer is about common keys.
    expect(two.reply.rest).toEqual(one.reply.rest);
    expect(two.query.rest).toEqual(one.query.rest);
    const kept = two.reply.points.filter((point, i) => point === one.reply.points[i]);
    expect(kept).toHaveLength(6);
  });

  test('with other randomness, no point and no tag comes again', () => {
    const one = run(a, { keys: common, options, seed: 4 });
    const two = run({ ...a, seed: 5 }, { keys: common, options, seed: 6 });
    const all = [one.query, one.reply, two.query, two.reply].flatMap((fields) => fields.points);
    expect(new Set(all).size).toBe(all.length);
    const tags = [one, two].flatMap(({ reply: { rest } }) =>
      Array.from({ length: 12 }, (_, i) =>
        rest.slice((i * rest.length) / 12, ((i + 1) * rest.length) / 12).join(),
      ),
    );
    expect(new Set(tags).size).toBe(24);
  });

  test('a padded set looks like a full one, and dummies are never common', () => {
    const { reply, initiator, responder } = run(a, { keys: common, options: { group, padTo: 12 }, seed: 7 });
    expect(reply.points).toHaveLength(12);
    expect(initiator.result).toMatchObject({ commonCount: 6, peerSize: 12 });
    expect(responder.result.commonCount).toBe(6);
  });

  test('the place of a key says nothing about it', () => {
    const rounds = withEffort(600, 300);
    const places = new Uint32Array(6);
    for (let seed = 0; seed < rounds; seed++) {
      const [session] = openPair(
        { keys: names('k', 6), options: { group: echoGroup }, seed },
        { keys: [], options: { group: echoGroup }, seed: 1 },
      );
      let bytes = joined([]);
      for (let piece = session.pull(); piece !== null; piece = session.pull()) bytes = joined([bytes, piece]);
      const { points } = fieldsOf(bytes);
      places[points.indexOf(firstPoint)]++;
    }
    expectUniform(places, 'places of the first key');
    expectBinomial(places[0], rounds, 1 / 6, 'the first key at the first place');
  });
});

/** A group without secrets: elements are hashes, and scalars do nothing. It shows the order. */
const echoGroup = {
  sha512: group.sha512,
  elementFrom: (uniform: Uint8Array) => uniform.slice(0, 32),
  scalarFrom: (uniform: Uint8Array) => uniform.slice(0, 32),
  multiply: (element: Uint8Array) => element,
};
const firstPoint = (() => {
  const [session] = openPair(
    { keys: ['k0@example.org'], options: { group: echoGroup }, seed: 1 },
    { keys: [], options: { group: echoGroup }, seed: 1 },
  );
  session.pull();
  return Buffer.from(session.pull() ?? []).toString('hex');
})();
