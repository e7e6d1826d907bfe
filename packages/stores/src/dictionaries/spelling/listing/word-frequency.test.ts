import { expect, test } from 'vitest';
import { englishFrequencies, FrequencyCounter, frequencyClass } from './word-frequency.ts';

test('frequencyClass is 1 for one in a million, one more for each doubling, at most 15', () => {
  expect([1, 2, 4, 1000, 16_384, 500_000].map((count) => frequencyClass(count, 1e6))).toEqual([
    1, 2, 3, 11, 15, 15,
  ]);
  expect(frequencyClass(1, 1e9)).toBe(1);
});

test('FrequencyCounter counts words of texts without case', () => {
  const counter = new FrequencyCounter();
  counter.add('The cat and the dog don’t.\n');
  counter.add("the cats don't");
  const classes = counter.classes();
  expect([...classes.keys()]).toEqual(['the', 'cat', 'and', 'dog', "don't", 'cats']);
  expect(classes.get('the')).toBe(frequencyClass(3, 9));
  expect(classes.get("don't")).toBe(frequencyClass(2, 9));
});

test('the English table has 5,000 words in rising order of rarity', () => {
  const classes = englishFrequencies();
  expect(classes.size).toBe(5000);
  expect([...classes.values()].every((value) => value >= 1 && value <= 15)).toBe(true);
  expect(classes.get('the')).toBe(15);
  expect(classes.get('people')).toBeGreaterThan(classes.get('wrath')!);
  expect(classes.get('collogue')).toBeUndefined();
});
