import { expect, test } from 'vitest';
import { POLICIES, parsePolicies } from './named-policies.ts';

test('parsePolicies takes a list or all, without repetitions and with alone first', () => {
  expect(parsePolicies('summaries, icp,summaries')).toEqual(['alone', 'summaries', 'icp']);
  expect(parsePolicies('alone')).toEqual(['alone']);
  expect(parsePolicies('all')).toEqual(Object.keys(POLICIES));
  expect(() => parsePolicies('icp,carp')).toThrow('--policy carp is unknown; there are alone, icp,');
});

test('POLICIES pass --copies on to summaries alone', () => {
  expect(POLICIES.summaries.choice({ copies: 0.5 })).toEqual({ kind: 'summaries', copies: 0.5 });
  expect(POLICIES.summaries.choice({})).toEqual({ kind: 'summaries' });
  expect(POLICIES['summaries-single'].choice()).toEqual({ kind: 'summaries', copies: 0, owner: false });
});
