/**
 * Generates all forms of a word of a hunspell dictionary. Hunspell strips affixes from the word
 * that it is asked for. A set needs the affixes added, once, when it is built.
 *
 * A form is prefix + stem + suffix + suffix (with COMPLEXPREFIXES prefix + prefix + stem + suffix):
 * hunspell strips at most two affixes at one end and one at the other, so there are never more. A
 * second affix is licensed by the continuation flags of the first; affixes at both ends need the
 * cross-product mark on each, and the prefix is licensed by the stem or by the suffix, the suffix
 * by the stem or by the prefix. A form with NEEDAFFIX is a step to other forms and not a word. A
 * CIRCUMFIX affix counts only together with one at the other end. A form with ONLYINCOMPOUND is
 * never a word by itself.
 *
 * Nothing is stored: forms go to the caller one by one. A dictionary of a few lines could ask for
 * billions of them, so there is a limit per stem, and a budget for the whole dictionary. The budget
 * counts forms, and rules that are tried, whether they apply or not.
 */

import type { AffixFile, AffixRule } from './affix-file.ts';
import { SpellingError } from './spelling-error.ts';

/** Called with each form and the rules that made it. */
export type EmitForm = (form: string, rules: readonly AffixRule[]) => void;

/**
 * The most forms of one stem. French has some 40 per stem. Debian's Hungarian dictionary has stems
 * with more than a million and is refused: such a language needs a program that strips affixes, not
 * a set.
 */
const MOST_FORMS_OF_A_STEM = 100_000;

/**
 * The limit for the expansion of a whole dictionary. en_US makes 0.2 million forms in a million
 * trials.
 */
export class ExpansionBudget {
  readonly #what: string;
  readonly #mostForms: number;
  readonly #mostTrials: number;
  #forms = 0;
  #trials = 0;

  /** `what` names the dictionary in errors. */
  constructor(what: string, mostForms = 2 ** 26, mostTrials = 2 ** 30) {
    this.#what = what;
    this.#mostForms = mostForms;
    this.#mostTrials = mostTrials;
  }

  spendForm(): void {
    if (++this.#forms > this.#mostForms)
      throw new SpellingError(
        'limit',
        `${this.#what} makes more than ${this.#mostForms} forms: too many for a list of all`,
      );
  }

  spendTrial(): void {
    if (++this.#trials > this.#mostTrials)
      throw new SpellingError(
        'limit',
        `${this.#what} has so many words and affixes that more than ${this.#mostTrials} rules would have to be tried`,
      );
  }
}

export function expandStem(
  stem: string,
  flags: readonly string[],
  affixes: AffixFile,
  budget: ExpansionBudget,
  emit: EmitForm,
): void {
  const { needAffix, onlyInCompound, circumfix, complexPrefixes } = affixes;
  if (has(flags, onlyInCompound)) return;
  let count = 0;
  const chains: Chain[] = [];
  const start: Chain = { form: stem, rules: [], flags, needsAffix: has(flags, needAffix) };
  // The end that may have two affixes comes first; an affix of the other end is added to each of
  // its chains.
  extend(start, !complexPrefixes, 2, affixes, budget, chains);
  for (const inner of chains) {
    offer(inner);
    const outer: Chain[] = [];
    extend({ ...inner, flags: licences(inner, flags) }, complexPrefixes, 1, affixes, budget, outer);
    for (const chain of outer.slice(1)) {
      const rule = chain.rules[chain.rules.length - 1];
      if (inner.rules.length > 0 && !(rule.cross && inner.rules.every((other) => other.cross))) continue;
      // One of the two ends may be incomplete; both may not.
      const needsAffix = inner.rules.length === 0 ? chain.needsAffix : chain.needsAffix && inner.needsAffix;
      offer({ ...chain, needsAffix });
      if (inner.rules.length === 0 && rule.cross) licensedByOuter(chain, rule);
    }
  }

  /** Affixes at the first end that only the affix at the other end licenses. */
  function licensedByOuter(outer: Chain, rule: AffixRule): void {
    const extra: Chain[] = [];
    const licensed = rule.continuation.filter((flag) => !flags.includes(flag));
    if (licensed.length === 0) return;
    extend({ ...outer, flags: licensed, needsAffix: false }, !complexPrefixes, 1, affixes, budget, extra);
    for (const chain of extra.slice(1)) if (chain.rules[chain.rules.length - 1].cross) offer(chain);
  }

  function offer({ form, rules, needsAffix }: Chain): void {
    if (needsAffix) return;
    if (rules.some((rule) => has(rule.continuation, onlyInCompound))) return;
    if (circumfix !== undefined && rules.length > 0) {
      const prefixes = rules.filter((rule) => rule.prefix);
      const suffixes = rules.filter((rule) => !rule.prefix);
      const marked = (list: readonly AffixRule[]) =>
        list.some((rule) => rule.continuation.includes(circumfix));
      if (marked(prefixes) !== marked(suffixes)) return;
    }
    if (++count > MOST_FORMS_OF_A_STEM) {
      throw new SpellingError('limit', `${stem} ${TOO_MANY}`);
    }
    budget.spendForm();
    emit(form, rules);
  }
}

/** A stem with its affixes. */
interface Chain {
  readonly form: string;
  readonly rules: readonly AffixRule[];
  /** Flags of the affixes that may be added next. */
  readonly flags: readonly string[];
  readonly needsAffix: boolean;
}

/** Collects the chain itself, and all chains that affixes of one end make from it. */
function extend(
  chain: Chain,
  suffixes: boolean,
  depth: number,
  affixes: AffixFile,
  budget: ExpansionBudget,
  out: Chain[],
): void {
  out.push(chain);
  if (depth === 0) return;
  for (const flag of new Set(chain.flags)) {
    budget.spendTrial();
    const rules = affixes.rules.get(flag);
    if (rules === undefined) continue;
    for (const rule of rules) {
      budget.spendTrial();
      if (rule.prefix === suffixes) continue;
      const form = apply(rule, chain.form, affixes.fullStrip);
      if (form === undefined) continue;
      const needsAffix = has(rule.continuation, affixes.needAffix);
      extend(
        { form, rules: [...chain.rules, rule], flags: rule.continuation, needsAffix },
        suffixes,
        depth - 1,
        affixes,
        budget,
        out,
      );
      if (out.length > MOST_FORMS_OF_A_STEM) {
        throw new SpellingError('limit', `${chain.form} ${TOO_MANY}`);
      }
    }
  }
}

/** The flags that can license an affix at the other end. */
function licences(inner: Chain, ofStem: readonly string[]): readonly string[] {
  return inner.rules.length === 0 ? ofStem : [...ofStem, ...inner.rules.flatMap((rule) => rule.continuation)];
}

/** The form that a rule makes, or undefined if the rule does not apply. */
function apply(
  { prefix, strip, add, applies }: AffixRule,
  form: string,
  fullStrip: boolean,
): string | undefined {
  if (strip !== '' && !(prefix ? form.startsWith(strip) : form.endsWith(strip))) return undefined;
  if (form.length === strip.length && !fullStrip) return undefined;
  if (!applies(form)) return undefined;
  return prefix ? add + form.slice(strip.length) : form.slice(0, form.length - strip.length) + add;
}

function has(flags: readonly string[], flag: string | undefined): boolean {
  return flag !== undefined && flags.includes(flag);
}

const TOO_MANY = `has more than ${MOST_FORMS_OF_A_STEM} forms: too many words for a list of all`;
