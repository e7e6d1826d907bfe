import { expect, test } from 'vitest';
import { termsOf } from './document-terms.ts';

test.each([
  ['The cat, the CAT; the-cat.', ['the', 'cat']],
  ["Don't, don’t and 'quoted' dogs'", ["don't", 'and', 'quoted', 'dogs']],
  ["l'été à Paris", ["l'été", 'à', 'paris']],
  ['version 2.10 of 2024-11-18', ['version', '2', '10', 'of', '2024', '11', '18']],
  ['cafe\u0301 CAFÉ ﬁne', ['café', 'fine']],
  ['ΟΔΟΣ улица Straße', ['οδος', 'улица', 'straße']],
  ['snake_case x', ['snake', 'case', 'x']],
  ['日本語 と', ['日本', '本語', 'と']],
  ['abc日本def', ['abc', '日本', 'def']],
  ['สวัสดี', ['สว', 'วั', 'ัส', 'สด', 'ดี']],
  ['हिन्दी', ['हिन्दी']],
  ['… — !? \n\t', []],
  ['', []],
])('the terms of %j', (text, terms) => {
  expect([...termsOf(text)]).toEqual(terms);
});
