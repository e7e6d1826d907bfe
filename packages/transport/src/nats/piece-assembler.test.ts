import { expect, test } from 'vitest';
import { cutIntoPieces, type Envelope } from '../presence/envelope.ts';
import { PieceAssembler } from './piece-assembler.ts';

function pieces(number: number, message: Uint8Array, most: number): Envelope[] {
  const parts = cutIntoPieces(message, most);
  return parts.map((payload, piece) => ({
    kind: 'message',
    keyId: 0,
    timeMs: 0,
    node: 'a',
    life: 'AAECAwQFBgcI',
    serial: piece,
    number,
    piece,
    pieces: parts.length,
    length: message.length,
    payload,
  }));
}

const message = Buffer.from('a message of some length');

test('PieceAssembler returns a message with its last piece', () => {
  for (const most of [1, 5, 23, 24, 100]) {
    const assembler = new PieceAssembler();
    const results = pieces(1, message, most).map((piece) => assembler.take('a x', piece));
    expect(results.pop()).toEqual(message);
    expect(results.every((result) => result === null)).toBe(true);
    expect(assembler.heldBytes).toBe(0);
  }
});

test('PieceAssembler gives a message up that lost a piece, and takes the next one', () => {
  const assembler = new PieceAssembler();
  for (let lost = 0; lost < 5; lost++) {
    const all = pieces(lost, message, 5);
    all.splice(lost, 1);
    for (const piece of all) expect(assembler.take('a x', piece)).toBe(null);
  }
  const [last] = pieces(9, message, 5)
    .map((piece) => assembler.take('a x', piece))
    .slice(-1);
  expect(last).toEqual(message);
});

test('PieceAssembler keeps messages of several places apart', () => {
  const assembler = new PieceAssembler();
  const [one, two] = [pieces(1, message, 12), pieces(2, Buffer.from('another message'), 8)];
  expect(assembler.take('a x', one[0])).toBe(null);
  expect(assembler.take('b x', two[0])).toBe(null);
  expect(assembler.take('a x', one[1])).toEqual(message);
  expect(`${assembler.take('b x', two[1])}`).toBe('another message');
});

test('PieceAssembler holds no more than its limit, and no more than a message declares', () => {
  const assembler = new PieceAssembler(100);
  for (let place = 0; place < 50; place++) {
    assembler.take(`${place}`, pieces(1, new Uint8Array(60), 30)[0]);
    expect(assembler.heldBytes).toBeLessThanOrEqual(100);
  }
  const [first, second] = pieces(1, new Uint8Array(40), 30);
  assembler.take('x', first);
  expect(assembler.take('x', { ...second, payload: new Uint8Array(30) })).toBe(null);
});
