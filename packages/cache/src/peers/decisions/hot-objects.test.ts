import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { HotObjects } from './hot-objects.ts';

const WINDOW = 1024;

/** The same rule, by looking at the whole list each time. */
class NaiveHotObjects {
  readonly #all: (string | null)[] = [];

  took(): void {
    this.#all.push(null);
  }

  gave(key: string): boolean {
    this.#all.push(key);
    const last = this.#all.slice(-WINDOW);
    const given = last.filter((each) => each !== null);
    const times = given.filter((each) => each === key).length;
    return last.length === WINDOW && given.length > WINDOW / 2 && times >= 8;
  }
}

describe('hot objects', () => {
  test('none in a node that gives as much as it takes', () => {
    const hot = new HotObjects<string>();
    for (let i = 0; i < 5000; i++) {
      hot.took();
      expect(hot.gave('a')).toBe(false);
    }
  });

  test('none before the window is full', () => {
    const hot = new HotObjects<string>();
    for (let i = 1; i < WINDOW; i++) expect(hot.gave('a')).toBe(false);
    expect(hot.gave('a')).toBe(true);
  });

  test('one that is no longer asked for cools down', () => {
    const hot = new HotObjects<string>();
    for (let i = 0; i < WINDOW; i++) hot.gave(i < 100 ? 'a' : `${i}`);
    for (let i = 0; i < 92; i++) hot.gave(`b${i}`);
    // Seven of the hundred are left, and this is the eighth.
    expect(hot.gave('a')).toBe(true);
    for (let i = 0; i < 7; i++) hot.gave(`c${i}`);
    expect(hot.gave('a')).toBe(false);
  });

  test('the same answers as a list of everything', () => {
    const random = new Random(7);
    const unit = () => random.bits() / 2 ** 32;
    const [hot, naive] = [new HotObjects<string>(), new NaiveHotObjects()];
    let marked = 0;
    for (let i = 0; i < 20_000; i++) {
      // The share of objects that are taken rises and falls around one half.
      if (unit() < 0.5 + 0.1 * Math.sin(i / 1500)) {
        hot.took();
        naive.took();
        continue;
      }
      const key = `${Math.floor(300 * unit() ** 3)}`;
      const answer = hot.gave(key);
      expect(answer).toBe(naive.gave(key));
      if (answer) marked++;
    }
    expect(marked).toBeGreaterThan(1000);
    expect(marked).toBeLessThan(9000);
  });
});
