import { expect, test } from 'vitest';
import { FleetSubjects, isFleetName, subjectToken, tokenText } from './subjects.ts';

const TEXTS = ['node-1', 'a.b', '*', '>', 'a b', 'grün', '=2e', 'owner.v2', ''];

test('subjectToken() gives one token without wildcards, from which the text is read again', () => {
  for (const text of TEXTS) {
    expect(subjectToken(text)).toMatch(/^[\w=-]*$/);
    expect(tokenText(subjectToken(text))).toBe(text);
  }
  expect(new Set(TEXTS.map(subjectToken)).size).toBe(TEXTS.length);
});

test('FleetSubjects: subjects of two fleets, nodes or topics never meet', () => {
  const [one, two] = [new FleetSubjects('one'), new FleetSubjects('two')];
  expect(one.said('a', 'x')).toBe('bloomery.one.said.a.x');
  expect(one.said('a.b', 'x')).toBe('bloomery.one.said.a=2eb.x');
  expect(one.here('a')).not.toBe(two.here('a'));
  expect(one.ask('a', 'life', 'x')).not.toBe(one.ask('a', 'other', 'x'));
  expect(one.greet('a', 'life')).toBe('bloomery.one.ask.a.life.-');
});

test('FleetSubjects refuses names of fleets that are no token', () => {
  for (const name of ['', 'a.b', 'a*', 'x'.repeat(65), 'a b']) {
    expect(isFleetName(name)).toBe(false);
    expect(() => new FleetSubjects(name)).toThrow(/^Cannot name a fleet on NATS: expected .+, got "/);
  }
  expect(isFleetName('prod_eu-1')).toBe(true);
});
