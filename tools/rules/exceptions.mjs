// The exceptions of the rules in this folder, each with a reason. An exception that is no longer
// needed is a problem as well.

/**
 * TEMPORARY: folders in which several changes are under way. Their refusals are counted and do not
 * fail. Delete an entry when its folder is mended, and this list when it is empty.
 * @type {string[]}
 */
export const UNDER_REPAIR = [
  'packages/cache/src/proxy/',
  'packages/cache/src/safety/',
  'packages/cache/src/store/memory/',
  'packages/cache/src/store/disk/',
  'packages/cache/src/node/listen/',
  'packages/bloomery/src/filters/',
  'packages/bloomery/src/formats/',
  'packages/bloomery/src/wire/',
  'packages/bloomery/src/hashing/',
  'packages/bloomery/src/math/',
  'apps/cli/src/building/',
  'apps/cli/src/keys/',
];

/**
 * Error classes whose messages have a grammar of their own.
 * @type {{ name: string, why: string }[]}
 */
export const OWN_GRAMMAR = [
  {
    name: 'UsageError',
    why: 'main.ts prints it after "bloomery: ", as "<file or option> <what is wrong>; <what to do>", like other commands',
  },
  {
    name: 'InvalidArgumentError',
    why: 'commander puts "error: option … argument … is invalid." before it, and so it is a sentence with a full stop',
  },
];

/**
 * Files that break a rule a known number of times.
 * @type {{ rule: string, path: string, count: number, why: string }[]}
 */
export const EXCEPTIONS = [];
