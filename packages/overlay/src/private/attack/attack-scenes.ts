/**
 * The scenes of the page about private sharing: one owner with 200 contacts, an attacker with a
 * dictionary of 100,000 addresses that holds all of them, and up to ten filters in its hands. Each
 * scene is one way to share. A seed decides everything.
 */

import { BloomFilter } from 'bloomery';
import { keyedFilter, sharedKey } from '../filters/keyed-filter.ts';
import { noisyFilter } from '../filters/noisy-filters.ts';
import { RandomisedPublisher } from '../filters/randomised-publisher.ts';
import { DictionaryAttack } from './dictionary-attack.ts';
import { SeededRandom } from './seeded-random.ts';

const CONTACTS = 200;
const DICTIONARY = 100_000;
/** Members of the group with a composite whitelist. */
const MEMBERS = 10;
/** Guesses that a friend brings to one intersection. */
const GUESSES = 1000;

export interface AttackOutcome {
  /** The number of filters that the attacker has, or of sessions that it took part in. */
  readonly intercepted: number;
  /** Keys that the attacker holds to be more likely than before. */
  readonly suspects: number;
  /** Contacts among them. */
  readonly found: number;
  /** Contacts among the attacker's 200 best guesses. */
  readonly best: number;
}

interface World {
  readonly contacts: readonly string[];
  readonly dictionary: readonly string[];
  readonly random: SeededRandom;
}

type Scene = (world: World, attack: DictionaryAttack) => () => void;

/** Each scene gives a function that hands the attacker one more filter. */
const SCENES: Readonly<Record<string, Scene>> = {
  'plain, 1 %': ({ contacts }, attack) => {
    const filter = plain(contacts, 0.01, 0);
    return () => attack.intercept(filter);
  },
  'plain, 1 %, other hashes each time': ({ contacts }, attack) => {
    let issue = 0;
    return () => attack.intercept(plain(contacts, 0.01, issue++));
  },
  'noisy after Ceglowski, 50 %': ({ contacts }, attack) => {
    let issue = 0;
    return () => attack.intercept(noisyFilter(contacts, { issue: issue++ }));
  },
  'keyed, attacker without the keys': ({ contacts, random }, attack) => {
    return () => attack.intercept(underAnotherKey(keyedFor(contacts, random, 'owner'), random));
  },
  'keyed, friends who collude': ({ contacts, random }, attack) => {
    return () => attack.intercept(keyedFor(contacts, random, 'owner'));
  },
  'composite of 10 members, with the key': ({ contacts, dictionary, random }, attack) => {
    // The other members have contacts of their own, from the same dictionary.
    const all = new Set(contacts);
    while (all.size < MEMBERS * CONTACTS) all.add(dictionary[random.below(dictionary.length)]);
    const filter = keyedFor([...all], random, 'group');
    return () => attack.intercept(filter);
  },
  ...randomisedScenes([1, 2, 4]),
};

export const SCENE_NAMES: readonly string[] = [
  ...Object.keys(SCENES),
  'intersection, 1000 guesses per session',
];

/**
 * Runs a scene, and tells the outcome after each number of filters in `steps`, in ascending order.
 */
export function runScene(name: string, seed: number, steps: readonly number[]): AttackOutcome[] {
  const dictionary = Array.from({ length: DICTIONARY }, (_, i) => `person${i}@example.org`);
  const random = new SeededRandom(seed);
  random.shuffle(dictionary);
  const contacts = random.shuffle([...dictionary]).slice(0, CONTACTS);
  const truth = new Set(contacts);
  const world = { contacts, dictionary, random };
  if (!(name in SCENES)) return guessing(world, truth, steps);
  const attack = new DictionaryAttack(dictionary);
  const intercept = SCENES[name](world, attack);
  let done = 0;
  return steps.map((intercepted) => {
    for (; done < intercepted; done++) intercept();
    const suspects = attack.suspects();
    return {
      intercepted,
      suspects: suspects.length,
      found: suspects.filter((key) => truth.has(key)).length,
      best: attack.best(CONTACTS).filter((key) => truth.has(key)).length,
    };
  });
}

/** A malicious friend brings guesses to intersections, which answer exactly. */
function guessing({ dictionary }: World, truth: Set<string>, steps: readonly number[]): AttackOutcome[] {
  return steps.map((intercepted) => {
    const found = dictionary.slice(0, intercepted * GUESSES).filter((key) => truth.has(key)).length;
    return { intercepted, suspects: found, found, best: found };
  });
}

/**
 * Randomised filters of 4000 bits and two hashes: the same release again and again, and a release
 * with noise of its own each time, as for a set that changes a little in between.
 */
function randomisedScenes(epsilons: readonly number[]): Record<string, Scene> {
  const scenes: Record<string, Scene> = {};
  for (const epsilon of epsilons) {
    const publisher = (random: SeededRandom, salt: Uint8Array) =>
      new RandomisedPublisher({
        bits: 20 * CONTACTS,
        hashes: 2,
        epsilon,
        budget: epsilon,
        noiseSecret: random.bytes(16),
        salt,
      });
    scenes[`randomised, ε = ${epsilon}, the same noise`] = ({ contacts, random }, attack) => {
      const release = publisher(random, random.bytes(16)).release(contacts);
      let sent = false;
      return () => {
        // A further copy of the same release tells the attacker nothing new.
        if (!sent) attack.interceptRandomised(release);
        sent = true;
      };
    };
    scenes[`randomised, ε = ${epsilon}, noise of its own each time`] = ({ contacts, random }, attack) => {
      const salt = random.bytes(16);
      return () => attack.interceptRandomised(publisher(random, salt).release(contacts));
    };
  }
  return scenes;
}

function plain(keys: readonly string[], falsePositiveRate: number, seed: number): BloomFilter {
  const filter = BloomFilter.forCapacity({ capacity: keys.length, falsePositiveRate, seed });
  filter.addMany(keys);
  return filter;
}

function keyedFor(keys: readonly string[], random: SeededRandom, from: string): BloomFilter {
  return keyedFilter(keys, { secret: random.bytes(16), from });
}

/** The bits of a keyed filter, asked by a reader who guesses the key. */
function underAnotherKey(filter: BloomFilter, random: SeededRandom): BloomFilter {
  const shared = new BloomFilter({
    bits: filter.bits,
    hashes: filter.hashes,
    key: sharedKey(random.bytes(16), 'guess'),
    shared: true,
  });
  const words = new Uint8Array(shared.share().buffer as SharedArrayBuffer);
  const frame = filter.encode();
  words.set(frame.subarray(frame.length - 4 - Math.ceil(filter.bits / 8), frame.length - 4));
  return shared;
}
