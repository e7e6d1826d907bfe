/**
 * Misspellings that people make, and whether the word that was meant is among the first five
 * suggestions. Two lists:
 *
 * - 70 common misspellings of English. One entry (`calender`, which is a word) was replaced after
 *   the first measurement, and the scores of this list were seen while the costs of edits were
 *   chosen. The list is easy: hunspell finds all 70 as well.
 * - Misspellings of codespell's dictionary (Debian's package `codespell`), if it is installed:
 *   1,000 of those whose word is in en_US, drawn with a fixed seed. The costs were chosen on 500 of
 *   an earlier draw from nearly the same words, of which about 16 may be among the 1,000.
 */

import { existsSync, readFileSync } from 'node:fs';

export interface Misspelling {
  readonly slip: string;
  readonly word: string;
}

const CODESPELL = '/usr/lib/python3/dist-packages/codespell_lib/data/dictionary.txt';
const TUNED = 500;
const ASKED = 1000;

export const COMMON: readonly Misspelling[] = `
absense: absence
accomodate: accommodate
acheive: achieve
accross: across
acquaintence: acquaintance
agressive: aggressive
alot: a lot
apparantly: apparently
arguement: argument
becuase: because
begining: beginning
beleive: believe
bizzare: bizarre
buisness: business
restaraunt: restaurant
catagory: category
cemetary: cemetery
collegue: colleague
commitee: committee
completly: completely
concious: conscious
definately: definitely
dilemna: dilemma
disapoint: disappoint
ecstacy: ecstasy
embarass: embarrass
enviroment: environment
exellent: excellent
existance: existence
experiance: experience
familar: familiar
finaly: finally
foriegn: foreign
fourty: forty
freind: friend
futher: further
gaurd: guard
goverment: government
grammer: grammar
harrass: harass
humerous: humorous
immediatly: immediately
independant: independent
interupt: interrupt
irresistable: irresistible
knowlege: knowledge
liason: liaison
libary: library
maintainance: maintenance
millenium: millennium
mischievious: mischievous
neccessary: necessary
noticable: noticeable
ocassion: occasion
occured: occurred
parliment: parliament
persistant: persistent
posession: possession
prefered: preferred
priviledge: privilege
pronounciation: pronunciation
publically: publicly
questionaire: questionnaire
recieve: receive
reccomend: recommend
rythm: rhythm
seperate: separate
succesful: successful
tommorow: tomorrow
wierd: weird
`
  .trim()
  .split('\n')
  .map((line) => {
    const [slip, word] = line.split(': ');
    return { slip, word };
  });

/** Returns the sample of codespell's dictionary, or undefined if it is not installed. */
export function codespellSample(forms: ReadonlySet<string>): readonly Misspelling[] | undefined {
  const path = (process.env.TEXTS_ROOT ?? '') + CODESPELL;
  if (!existsSync(path)) return undefined;
  const all: Misspelling[] = [];
  for (const [, slip, word] of readFileSync(path, 'utf8').matchAll(/^([a-z']+)->([a-z']+)$/gm))
    if (forms.has(word) && !forms.has(slip)) all.push({ slip, word });
  let state = 1;
  for (let i = all.length - 1; i > 0; i--) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((state / 2 ** 32) * (i + 1));
    [all[i], all[j]] = [all[j], all[i]];
  }
  return all.slice(TUNED, TUNED + ASKED);
}
