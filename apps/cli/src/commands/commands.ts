/**
 * All commands, in the order of `bloomery --help`. Each module is loaded when its command is used,
 * so that one command does not wait for the others to load.
 */

import type { Command } from 'commander';

export interface CommandModule {
  /** Names of the commands that the module registers. */
  readonly names: readonly string[];
  load(): Promise<{ register(program: Command): void }>;
}

export const COMMANDS: readonly CommandModule[] = [
  { names: ['plan'], load: () => import('./plan.ts') },
  { names: ['build'], load: () => import('./build.ts') },
  { names: ['add', 'remove'], load: () => import('./add.ts') },
  { names: ['check'], load: () => import('./check.ts') },
  { names: ['count', 'get', 'top'], load: () => import('./count.ts') },
  { names: ['uniq'], load: () => import('./uniq.ts') },
  { names: ['info'], load: () => import('./info.ts') },
  { names: ['union', 'intersect'], load: () => import('./combine.ts') },
  { names: ['similar'], load: () => import('./similar.ts') },
  { names: ['join'], load: () => import('./join.ts') },
  { names: ['reconcile'], load: () => import('./reconcile.ts') },
  { names: ['contacts'], load: () => import('./contacts.ts') },
  { names: ['redis'], load: () => import('./redis.ts') },
  { names: ['annotations'], load: () => import('./annotations.ts') },
  { names: ['layer'], load: () => import('./layer.ts') },
  { names: ['index'], load: () => import('./text-index.ts') },
  { names: ['grep'], load: () => import('./grep.ts') },
  { names: ['halve'], load: () => import('./halve.ts') },
  { names: ['convert'], load: () => import('./convert.ts') },
  { names: ['encode', 'decode'], load: () => import('./encode.ts') },
  { names: ['delta', 'apply'], load: () => import('./delta.ts') },
  { names: ['sign'], load: () => import('./sign.ts') },
  { names: ['verify'], load: () => import('./verify.ts') },
  { names: ['spell'], load: () => import('./spell.ts') },
  { names: ['password'], load: () => import('./password.ts') },
  { names: ['hyphenate'], load: () => import('./hyphenate.ts') },
  { names: ['loops'], load: () => import('./loops.ts') },
  { names: ['digestd'], load: () => import('./digestd.ts') },
  { names: ['traceback'], load: () => import('./traceback.ts') },
  { names: ['cache'], load: () => import('./cache.ts') },
  { names: ['seed'], load: () => import('./seed.ts') },
  { names: ['fetch'], load: () => import('./fetch.ts') },
  { names: ['flows'], load: () => import('./flows.ts') },
  { names: ['queue'], load: () => import('./queue.ts') },
  { names: ['route'], load: () => import('./route.ts') },
  { names: ['share'], load: () => import('./share.ts') },
  { names: ['find'], load: () => import('./find.ts') },
  { names: ['simulate'], load: () => import('./simulate.ts') },
  { names: ['papers'], load: () => import('./papers.ts') },
  { names: ['selftest'], load: () => import('./selftest.ts') },
  { names: ['man'], load: () => import('./man.ts') },
  { names: ['completion'], load: () => import('./completion.ts') },
];
