/**
 * The settings `rule` and `rules`: freshness for origins that say nothing
 * (policy/freshness-rules.ts), written by the operator or taken from a ready-made set.
 *
 * The sets name files that never change under their name, because package managers forbid it or
 * check a digest: packages, not indexes. Where an index has a rule, it is minutes. They are used by
 * name, and only if the operator asks: a pattern like `*.jar` says something about Maven's
 * repositories, and nothing about other sites.
 *
 * The operator's own rules come first, so that they can correct a set.
 */

import type { FreshnessRule } from '../../policy/freshness-rules.ts';
import { formatDuration } from './amounts.ts';
import { durationOf } from './setting-reader.ts';

const EXAMPLE = '"*.deb fresh 1d" or "*.deb fresh 1d 20% 30d"';

/** The rules of each package manager, in the form that an operator would write. */
const RULE_SETS: Readonly<Record<string, readonly string[]>> = {
  apt: ['*/pool/*.deb', '*/pool/*.udeb', '*/pool/*.dsc', '*/pool/*.tar.*', '*/by-hash/*'].map(kept),
  npm: ['*/-/*.tgz'].map(kept),
  pip: [...['*.whl', '*/packages/*.tar.gz', '*/packages/*.zip'].map(kept), '*/simple/* fresh 10m'],
  cargo: ['*.crate', '*/crates/*/download'].map(kept),
  maven: [
    '*-SNAPSHOT* fresh 0s',
    '*/maven-metadata.xml* fresh 5m',
    ...['*.jar', '*.pom', '*.aar', '*.war', '*.module', '*.jar.*', '*.pom.*', '*.module.*'].map(kept),
  ],
};

function kept(pattern: string): string {
  return `${pattern} fresh 30d`;
}

/**
 * Parses `*.deb fresh 1d`. Words are separated by spaces, or by `;` where the environment allows no
 * spaces. Throws a `TypeError`.
 */
export function parseRule(text: string): FreshnessRule {
  const [pattern, fresh, min, percent, max, ...more] = text.split(/[\s;]+/);
  const wrong = (): never => {
    throw new TypeError(`Cannot read a rule: expected ${EXAMPLE}, got ${JSON.stringify(text)}`);
  };
  if (!pattern || fresh !== 'fresh' || min === undefined || more.length > 0) return wrong();
  if ((percent === undefined) !== (max === undefined)) return wrong();
  if (percent !== undefined && !/^\d+(\.\d+)?%$/.test(percent)) return wrong();
  const minMs = timeOf(min, wrong);
  const maxMs = max === undefined ? minMs : timeOf(max, wrong);
  if (maxMs < minMs) return wrong();
  const fraction = percent === undefined ? null : Number.parseFloat(percent) / 100;
  return { pattern, minMs, fraction, maxMs };
}

/** Checks the name of a set. Throws a `TypeError`. */
export function parseSetName(name: string): string {
  if (!Object.hasOwn(RULE_SETS, name))
    throw new TypeError(
      `Cannot find a set of rules: expected one of ${Object.keys(RULE_SETS).join(', ')}, got ${JSON.stringify(name)}`,
    );
  return name;
}

export function rulesOfSet(name: string): readonly FreshnessRule[] {
  return RULE_SETS[name]!.map(parseRule);
}

/** The rule as an operator would write it. */
export function formatRule({ pattern, minMs, fraction, maxMs }: FreshnessRule): string {
  const text = `${pattern} fresh ${formatDuration(minMs)}`;
  return fraction === null ? text : `${text} ${fraction * 100}% ${formatDuration(maxMs)}`;
}

function timeOf(text: string, wrong: () => never): number {
  try {
    return durationOf(text);
  } catch {
    return wrong();
  }
}
