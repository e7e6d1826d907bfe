// The order of packages and rooms, from low to high, and the exceptions. A new package or room is
// entered here.

/**
 * Packages import those of lower rank. The test kit has no rank: only tests import it.
 * @type {Record<string, number>}
 */
export const RANKS = {
  bloomery: 0,
  // ground
  transport: 1,
  sim: 1,
  files: 1,
  reconcile: 1,
  delivery: 1,
  // systems
  cache: 2,
  overlay: 2,
  packets: 2,
  stores: 2,
  // apps
  cli: 3,
  console: 3,
  papers: 3,
  annotator: 3,
};

/** @typedef {(string | string[])[]} RoomList */

/** @typedef {{ from: string, to: string, why: string }} ImportException */

export const SYSTEM_RANK = 2;

/**
 * Imports between packages of the same rank.
 * @type {Record<string, string[]>}
 */
export const SIDEWAYS = {
  sim: ['transport'],
  delivery: ['reconcile', 'transport', 'files', 'sim'],
  cli: ['papers'],
};

/**
 * The rooms of each package, from low to high. Rooms in one inner list have the same level and do
 * not import each other. An entry is a folder of `src` or one of its files; the deepest entry that
 * matches counts. Files directly in `src` that are not listed are above all rooms.
 * @type {Record<string, RoomList>}
 */
export const ROOMS = {
  bloomery: [
    ['keys', 'hashing'],
    'kernel/wasm',
    ['kernel/batches', 'kernel/bits'],
    ['kernel/counters', 'kernel/tables', 'kernel/lists', 'kernel/coders'],
    'math',
    'frames',
    'filters',
    'wire/coding',
    'wire/sets',
    'wire/sync',
    'wire',
    'signing',
    'formats',
  ],
  files: [
    'file-error.ts',
    'descriptor-bytes.ts',
    'lock',
    'temporary-file.ts',
    'journal',
    'atomic-file.ts',
    'paged',
  ],
  transport: [
    ['clock.ts', 'transport-error.ts', 'fleet-keys.ts'],
    'fleet-keyring.ts',
    'transport.ts',
    'link',
    'membership',
    'http',
    'presence',
    ['nats', 'multicast'],
  ],
  sim: ['simulation-error.ts', 'engine', 'network', 'explorer'],
  reconcile: [
    'reconcile-error.ts',
    ['wire', 'negentropy'],
    ['symbols', 'sets'],
    ['one-way', 'automerge'],
    'math',
    'session',
    'key-set',
    'reconciler.ts',
    'resumable-reconciler.ts',
    'streams',
  ],
  delivery: [
    'delivery-error.ts',
    'math',
    ['sketches', 'codes'],
    'decisions',
    'wire',
    'store',
    'serve',
    'fetch',
    'simulation',
  ],
  console: ['page', 'plotting', 'shell', 'engine', ['plan', 'inside', 'papers', 'node']],
  cache: [
    'policy',
    'peers/decisions',
    'safety',
    'store',
    ['store/memory', 'store/disk'],
    'store/tiered',
    'proxy',
    'peers/objects',
    'peers/looking',
    'peers',
    ['peers/squids', 'peers/groups', 'peers/warming'],
    'node',
    'simulation',
  ],
  overlay: ['directory', 'search', 'routing', 'private', 'simulation'],
  packets: ['capture', 'routers', 'flows', 'queues', 'loops', 'multicast', 'traceback', 'simulation'],
  stores: [
    ['dictionaries/spelling', 'dictionaries/passwords', 'dictionaries/hyphenation'],
    'guard',
    'shared/decisions',
    'shared',
    'join',
    'layered/decisions',
    ['layered/layer-error.ts', 'layered/base.ts', 'layered/values.ts'],
    ['layered/log', 'layered/bases'],
    'layered',
    'text',
    'annotations/pages',
    'annotations/publication',
    'annotations/server',
    'annotations',
  ],
  testkit: [
    ['eventually.ts', 'token-bucket.ts'],
    ['captures', 'dns', 'golden', 'network', 'origins', 'programs', 'relay', 'transport'],
    'fleet',
    'faults',
  ],
  cli: [
    ['usage-error.ts', 'exit-codes.ts', 'thread-file.ts'],
    'terminal',
    'command-options.ts',
    'unpacking',
    ['keys', 'planning', 'completion'],
    'in-place/file-words.ts',
    'in-place/recovered-file.ts',
    'files',
    'checking',
    'inspecting',
    'conversion',
    'captures',
    'in-place',
    [
      'building',
      'spelling',
      'verifying',
      'signing',
      'hashing',
      'streaming',
      'joining',
      'reconciling',
      'contacts',
      'sharing',
      'text',
      'documents',
      'loops',
      'flows',
      'tracing',
      'queues',
      'routing',
      'delivery',
    ],
    'annotating',
    ['selftest', 'demo', 'fleet', 'simulating', 'layering', 'searching'],
    'commands',
  ],
  papers: [['drawing', 'trials'], 'findings', ['forms', 'texts']],
};

/**
 * Imports against the order of the rooms. An entry that is no longer needed is a problem as well.
 * @type {ImportException[]}
 */
export const ROOM_EXCEPTIONS = [];

/**
 * Imports that close a cycle between two files. An entry that is no longer needed is a problem as
 * well.
 * @type {ImportException[]}
 */
export const CYCLE_EXCEPTIONS = [
  {
    from: 'packages/stores/src/dictionaries/passwords/password-blocklist.ts',
    to: 'packages/stores/src/dictionaries/passwords/blocklist-builder.ts',
    why: 'PasswordBlocklist.from() makes a builder, whose build() makes the list; neither runs while loading',
  },
];

/**
 * Relative imports that leave their package.
 * @type {ImportException[]}
 */
export const OUTSIDE_EXCEPTIONS = [
  {
    from: 'packages/cache/test/chaos/soak.test.ts',
    to: 'bench/cache/',
    why: 'the test runs the short form of the soak',
  },
];

/**
 * Source files in one folder.
 * @type {number}
 */
export const MOST_FILES = 20;

/**
 * Folders that hold more than MOST_FILES source files.
 * @type {{ folder: string, why: string }[]}
 */
export const CROWDED_EXCEPTIONS = [
  { folder: 'packages/cache/src/policy', why: 'one rule of RFC 9111 a file' },
  { folder: 'apps/cli/src/commands', why: 'one command a file' },
];

/**
 * Tests in test/ that import one module only.
 * @type {{ path: string, why: string }[]}
 */
export const PLACE_EXCEPTIONS = [
  { path: 'apps/cli/test/commands/password.test.ts', why: 'it runs the built command in a terminal' },
];

/** Globals that pure rooms do not touch: clocks, randomness, I/O, and the way to all of them. */
export const IMPURE_GLOBALS = [
  'performance',
  'crypto',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'queueMicrotask',
  'process',
  'console',
  'fetch',
  'globalThis',
];

/** The one file of the library that lists the globals it uses beyond ECMAScript. */
export const PLATFORM = 'packages/bloomery/src/keys/platform.ts';
