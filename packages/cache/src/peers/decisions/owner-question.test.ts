import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import {
  decodeAnswer,
  decodeQuestion,
  encodeAnswer,
  encodeQuestion,
  type OwnerAnswer,
  type OwnerQuestion,
} from './owner-question.ts';

const hash = { low: 0x89abcdef, high: 0x01234567 };
const QUESTIONS: OwnerQuestion[] = [
  { kind: 'want', hash },
  { kind: 'done', hash: { low: 0, high: 0xffffffff } },
  { kind: 'lost', hash, source: 'node-é.example:3129' },
  { kind: 'lost', hash, source: 'x'.repeat(255) },
  { kind: 'unshareable', hash },
  { kind: 'left', hash },
];
const ANSWERS: OwnerAnswer[] = [
  { kind: 'fetch' },
  { kind: 'ask', node: 'a' },
  { kind: 'ask', node: '\ufeffmark' },
  { kind: 'noted' },
];

test('questions and answers keep their bytes', () => {
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
  expect(QUESTIONS.slice(0, 3).map((one) => hex(encodeQuestion(one)))).toEqual([
    '0101efcdab8967452301',
    '010200000000ffffffff',
    '0103efcdab89674523016e6f64652dc3a92e6578616d706c653a33313239',
  ]);
  expect(ANSWERS.slice(0, 2).map((one) => hex(encodeAnswer(one)))).toEqual(['0101', '010261']);
});

test('questions and answers are read as they were written, from the middle of a buffer too', () => {
  const shifted = (bytes: Uint8Array) => new Uint8Array([9, ...bytes, 9]).subarray(1, bytes.length + 1);
  for (const one of QUESTIONS) expect(decodeQuestion(shifted(encodeQuestion(one)))).toEqual(one);
  for (const one of ANSWERS) expect(decodeAnswer(shifted(encodeAnswer(one)))).toEqual(one);
});

test('a name without bytes or with more than 255 is refused by the writer', () => {
  for (const source of ['', 'é'.repeat(128)])
    expect(() => encodeQuestion({ kind: 'lost', hash, source })).toThrow(
      `Cannot write the name of a node: expected 1 to 255 bytes, got ${source.length * 2}`,
    );
});

test('every message that a reader accepts is one that a writer writes', () => {
  const random = new Random(5);
  const samples = [...QUESTIONS.map(encodeQuestion), ...ANSWERS.map(encodeAnswer)];
  const messages: Uint8Array[] = [];
  for (const bytes of samples) {
    for (let length = 0; length <= bytes.length; length++) messages.push(bytes.subarray(0, length));
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const damaged = bytes.slice();
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      messages.push(damaged);
    }
    messages.push(new Uint8Array([...bytes, 0]));
  }
  for (let i = 0; i < withEffort(20_000); i++) {
    const bytes = random.bytes(random.below(300));
    if (random.below(4) > 0 && bytes.length > 1) {
      bytes[0] = 1;
      bytes[1] = random.below(7);
    }
    messages.push(bytes);
  }
  for (const bytes of messages) {
    const question = decodeQuestion(bytes);
    if (question !== null && Buffer.compare(encodeQuestion(question), bytes) !== 0)
      expect(encodeQuestion(question)).toEqual(bytes);
    const answer = decodeAnswer(bytes);
    if (answer !== null && Buffer.compare(encodeAnswer(answer), bytes) !== 0)
      expect(encodeAnswer(answer)).toEqual(bytes);
  }
});

test('another version, kind or length is no message', () => {
  for (const one of QUESTIONS.slice(0, 3)) {
    const bytes = encodeQuestion(one);
    for (const [at, value] of [
      [0, 2],
      [1, 0],
      [1, 6],
    ] as const)
      expect(decodeQuestion(Uint8Array.from(bytes, (byte, i) => (i === at ? value : byte)))).toBeNull();
    expect(decodeQuestion(bytes.subarray(0, 9))).toBeNull();
  }
  expect(decodeQuestion(new Uint8Array([...encodeQuestion(QUESTIONS[0]!), 0]))).toBeNull();
  expect(decodeAnswer(new Uint8Array([1, 1, 0]))).toBeNull();
  expect(decodeAnswer(new Uint8Array([1, 2]))).toBeNull();
  expect(decodeAnswer(new Uint8Array([1, 2, 0xff]))).toBeNull();
});
