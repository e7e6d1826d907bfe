/** The worked example of docs/spec/peer-objects.md, computed again. */

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PieceReader, PieceWriter } from '../../src/peers/objects/object-pieces.ts';
import { askFields } from '../../src/peers/objects/object-request.ts';
import { answerContext, objectFields } from '../../src/peers/objects/object-response.ts';

const page = readFileSync(new URL('../../../../docs/spec/peer-objects.md', import.meta.url), 'utf8');

test('the example of the specification is what the code writes and reads', () => {
  const key = Buffer.from(Array.from({ length: 32 }, (_, at) => at));
  const signature = 'v=1; node=b; t=1700000000000; n=AAAAAAAAAAAAAAAA; mac=AAAA';
  const asked = askFields(['Accept-Language', 'de', 'Cookie', 'a=b'], {
    kind: 'stored',
    waitMs: 0,
    rest: null,
  });
  const fields = objectFields(['ETag', '"v1"', 'Age', '3', 'Content-Length', '8'], {
    epoch: 7,
    sequence: 42,
  });
  const context = answerContext(signature, asked, 200, fields);
  const writer = new PieceWriter(key, context);
  const wire = [writer.beat()];
  for (const text of ['hello', 'you']) {
    const { before, after } = writer.around(Buffer.from(text));
    wire.push(before, Buffer.from(text), after);
  }
  const trailer = writer.trailer();
  const reader = new PieceReader(key, context);
  expect(Buffer.concat(wire.flatMap((each) => reader.take(each))).toString()).toBe('helloyou');
  reader.end(trailer);
  const lines = [
    `context ${context.toString('hex')}`,
    `wire    ${Buffer.concat(wire)
      .toString('hex')
      .match(/.{1,80}/g)!
      .join('\n        ')}`,
    `trailer Bloomery-Digest: ${trailer}`,
  ];
  for (const line of lines) expect(page).toContain(line);
  for (const name of asked.filter((_, at) => at % 2 === 0)) expect(page).toContain(`${name}: `);
  for (const name of fields.filter((_, at) => at % 2 === 0)) expect(page).toContain(`${name}: `);
});
