import { describe, expect, test } from 'vitest';
import { askFields } from './object-request.ts';
import { answerContext, objectFields, readAnswer, refusalFields } from './object-response.ts';

const summary = { epoch: 7, sequence: 42 };

describe('readAnswer', () => {
  test('reads what objectFields writes: the same fields and length, without those of the protocol', () => {
    const fields = ['ETag', '"a"', 'Content-Length', '12', 'Age', '3', 'Cache-Status', 'a; hit'];
    const sent = objectFields(fields, summary);
    expect(sent).not.toContain('Content-Length');
    const received = [...sent, 'Transfer-Encoding', 'chunked', 'Connection', 'keep-alive'];
    expect(readAnswer({ status: 200, statusText: 'OK', headers: received })).toEqual({
      kind: 'object',
      head: {
        status: 200,
        statusText: 'OK',
        headers: ['ETag', '"a"', 'Age', '3', 'Cache-Status', 'a; hit', 'Content-Length', '12'],
      },
      length: 12,
      isHot: false,
      summary,
    });
  });

  test('reads that an object is hot, and no other value than 1', () => {
    const hot = (headers: string[]) => readAnswer({ status: 200, statusText: '', headers });
    expect(hot(objectFields([], summary, true))).toMatchObject({ kind: 'object', isHot: true });
    expect(hot(objectFields(['Bloomery-Keep', '1'], summary))).toMatchObject({ isHot: false });
    expect(hot([...objectFields([], summary), 'Bloomery-Keep', 'yes'])).toMatchObject({ isHot: false });
  });

  test('a body of unknown length has none, and a node without a summary tells none', () => {
    const answer = readAnswer({ status: 200, statusText: '', headers: objectFields(['A', 'b'], null) });
    expect(answer).toMatchObject({
      kind: 'object',
      length: null,
      summary: null,
      head: { headers: ['A', 'b'] },
    });
  });

  test('neither sends nor believes cookies, nor fields of the protocol that an origin sent', () => {
    const hostile = [
      'Set-Cookie',
      'a=b',
      'Bloomery-Length',
      '5',
      'Bloomery-Try',
      'x',
      'Bloomery-Object',
      '2',
    ];
    const sent = objectFields([...hostile, 'Content-Length', '9'], summary);
    expect(sent.join()).not.toMatch(/a=b|,5|Try|,2,/);
    const answer = readAnswer({ status: 200, statusText: '', headers: [...sent, 'Set-Cookie', 'a=b'] });
    expect(answer).toMatchObject({ kind: 'object', length: 9, head: { headers: ['Content-Length', '9'] } });
  });

  test('reads a refusal, with or without the node to try', () => {
    const read = (headers: string[]) => readAnswer({ status: 504, statusText: '', headers });
    expect(read(refusalFields(summary, null))).toEqual({ kind: 'refused', tryNode: null, summary });
    expect(read(refusalFields(null, 'node-3'))).toEqual({
      kind: 'refused',
      tryNode: 'node-3',
      summary: null,
    });
    expect(read(['Bloomery-Try', 'a b'])).toMatchObject({ tryNode: null });
  });

  test('keeps no field of this protocol, known or of a later version', () => {
    const headers = [...objectFields(['ETag', '"a"', 'Bloomery-Later', 'x'], null), 'bloomery-wish', 'y'];
    const answer = readAnswer({ status: 200, statusText: '', headers });
    expect(answer).toMatchObject({ kind: 'object', head: { headers: ['ETag', '"a"'] } });
    expect(objectFields(['Bloomery-Later', 'x'], null)).not.toContain('Bloomery-Later');
  });

  test('takes every head that is not an object for a refusal', () => {
    const heads = [
      { status: 200, headers: ['Content-Length', '3'] },
      { status: 200, headers: ['Bloomery-Object', '2'] },
      { status: 504, headers: ['Bloomery-Object', '1'] },
      { status: 200, headers: ['Bloomery-Object', '1', 'Bloomery-Length', '-1'] },
      { status: 200, headers: ['Bloomery-Object', '1', 'Bloomery-Length', '1e3'] },
      { status: 200, headers: ['Bloomery-Object', '1', 'Bloomery-Length', '9'.repeat(16)] },
    ];
    for (const head of heads) expect(readAnswer({ statusText: '', ...head }).kind).toBe('refused');
  });

  test('reads mutated fields without an error', () => {
    const text = '123456.789';
    for (let at = 0; at <= text.length; at++) {
      for (let char = 0; char < 256; char++) {
        const value = text.slice(0, at) + String.fromCharCode(char) + text.slice(at + 1);
        for (const name of ['Bloomery-Summary', 'Bloomery-Length', 'Bloomery-Try', 'Bloomery-Object']) {
          const headers = [...objectFields([], null), name, value];
          const answer = readAnswer({ status: 200, statusText: '', headers });
          if (answer.summary !== null) expect(value).toMatch(/^\d+\.\d+$/);
          if (answer.kind === 'object' && answer.length !== null) expect(value).toMatch(/^\d+$/);
        }
      }
    }
  });
});

describe('answerContext', () => {
  const asked = askFields(['Accept', 'a'], { kind: 'stored', waitMs: 0, rest: null });
  const fields = objectFields(['ETag', '"a"'], summary);

  test('is the same at both ends, whatever the connection adds', () => {
    const received = [
      ...fields,
      'Transfer-Encoding',
      'chunked',
      'Connection',
      'keep-alive',
      'Keep-Alive',
      'x',
    ];
    const question = ['host', 'a', ...asked, 'bloomery-peer', 's'];
    expect(answerContext('s', question, 200, received)).toEqual(answerContext('s', asked, 200, fields));
  });

  test('changes with the signature, the question, the status and every field of the answer', () => {
    const contexts = [
      answerContext('s', asked, 200, fields),
      answerContext('t', asked, 200, fields),
      answerContext('s', [...asked, 'Accept-Language', 'de'], 200, fields),
      answerContext('s', asked, 206, fields),
      answerContext('s', asked, 200, [...fields, 'X', 'y']),
      answerContext('s', asked, 200, fields.slice(2)),
    ];
    expect(new Set(contexts.map((each) => each.toString('hex'))).size).toBe(contexts.length);
  });
});
