import { expect, test } from 'vitest';
import { AdminToken, drawToken, isToken } from './admin-token.ts';

const RIGHT = 'the-right-token-1234';

function tokenAt(time: { now: number }): AdminToken {
  const token = new AdminToken(() => time.now);
  token.use(RIGHT, true);
  return token;
}

test('AdminToken.judge takes the token in Authorization, and no other field or scheme', () => {
  const token = tokenAt({ now: 0 });
  for (const good of [`Bearer ${RIGHT}`, `bearer  ${RIGHT} `, `BEARER ${RIGHT}`])
    expect(token.judge(good)).toEqual({ kind: 'right' });
  for (const none of [undefined, '', 'Bearer', 'Bearer ', RIGHT, `Basic ${RIGHT}`, `Bearer ${RIGHT} more`])
    expect(token.judge(none)).toEqual({ kind: 'missing' });
  for (const wrong of [RIGHT.slice(1), `${RIGHT}x`, RIGHT.toUpperCase(), '\u00e9'.repeat(20)])
    expect(token.judge(`Bearer ${wrong}`)).toEqual({ kind: 'wrong' });
});

test('AdminToken.judge refuses all tokens after ten wrong ones, until the minute is over', () => {
  const time = { now: 1000 };
  const token = tokenAt(time);
  for (let i = 0; i < 10; i++) {
    expect(token.judge(`Bearer guess-number-0000${i}`)).toEqual({ kind: 'wrong' });
    time.now += 1000;
  }
  expect(token.judge(`Bearer ${RIGHT}`)).toEqual({ kind: 'locked', retryAfterSeconds: 50 });
  expect(token.judge(undefined)).toEqual({ kind: 'missing' });
  time.now = 1000 + 59_999;
  expect(token.judge(`Bearer ${RIGHT}`)).toEqual({ kind: 'locked', retryAfterSeconds: 1 });
  time.now = 1000 + 60_000;
  expect(token.judge(`Bearer ${RIGHT}`)).toEqual({ kind: 'right' });
});

test('AdminToken counts wrong tokens of other processes, and tells its own', () => {
  let told = 0;
  const token = new AdminToken(
    () => 0,
    () => told++,
  );
  token.use(RIGHT, false);
  for (let i = 0; i < 9; i++) token.noteWrong();
  expect([token.judge('Bearer wrong-wrong-wrong').kind, told]).toEqual(['wrong', 1]);
  expect(token.judge(`Bearer ${RIGHT}`).kind).toBe('locked');
});

test('drawToken draws 128 bits, another one each time', () => {
  const tokens = Array.from({ length: 100 }, drawToken);
  expect(new Set(tokens).size).toBe(100);
  for (const token of tokens) expect([token.length, isToken(token)]).toEqual([22, true]);
});

test('isToken takes 16 to 256 visible ASCII characters', () => {
  for (const good of ['x'.repeat(16), 'x'.repeat(256), '!~'.repeat(8)]) expect(isToken(good)).toBe(true);
  for (const bad of [
    '',
    'x'.repeat(15),
    'x'.repeat(257),
    `${'x'.repeat(16)} y`,
    `${'x'.repeat(16)}\n`,
    'é'.repeat(16),
  ])
    expect(isToken(bad)).toBe(false);
});
