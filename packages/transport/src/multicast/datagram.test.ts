import { expect, test } from 'vitest';
import { decodeDatagram, encodeDatagram, subjectOf } from './datagram.ts';

const envelope = Buffer.from('the envelope');

test('decodeDatagram() reads what encodeDatagram() wrote, with and without a topic', () => {
  for (const topic of ['', 'summary', 'a'.repeat(64)]) {
    const read = decodeDatagram(encodeDatagram({ topic, envelope }));
    expect(read?.topic).toBe(topic);
    expect(Buffer.from(read!.envelope).equals(envelope)).toBe(true);
  }
});

test('decodeDatagram() refuses empty and long datagrams, and topics that are none', () => {
  expect(decodeDatagram(Buffer.alloc(0))).toBe(null);
  expect(decodeDatagram(Buffer.alloc(1401))).toBe(null);
  expect(decodeDatagram(Buffer.from([9, 97, 98]))).toBe(null);
  expect(decodeDatagram(encodeDatagram({ topic: 'No', envelope }))).toBe(null);
  expect(decodeDatagram(encodeDatagram({ topic: 'a b', envelope }))).toBe(null);
});

test('subjectOf() distinguishes groups and topics', () => {
  const subjects = ['239.0.0.1:1', '239.0.0.1:11'].flatMap((text) =>
    ['', 'x', 'y'].map((topic) => subjectOf({ text }, topic)),
  );
  expect(new Set(subjects).size).toBe(6);
});
